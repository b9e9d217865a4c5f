# Completion of shardwright for bash: source it, or put it into the folder of your bash-completion.
# Verbs, options and devices are asked of the tool itself, so that they cannot go stale.
_shardwright() {
	local tool=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		mapfile -t COMPREPLY < <(compgen -W "$("$tool" help 2>/dev/null | sed -n 's/^  \([a-z]*\)   *[a-z].*/\1/p')" -- "$word")
		return
	fi
	case $before in
	--device) mapfile -t COMPREPLY < <(compgen -W "$("$tool" devices 2>/dev/null | awk 'NR > 1 { print $1 }')" -- "$word") ;;
	--apply) mapfile -t COMPREPLY < <(compgen -W "annotate exact auto" -- "$word") ;;
	--objective) mapfile -t COMPREPLY < <(compgen -W "runtime memory" -- "$word") ;;
	*)
		if [[ $word == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$("$tool" "${COMP_WORDS[1]}" --help 2>/dev/null | grep -o -- '--[a-z][a-z-]*' | sort -u)" -- "$word")
		else
			mapfile -t COMPREPLY < <(compgen -f -- "$word")
		fi
		;;
	esac
}
complete -o filenames -F _shardwright shardwright
