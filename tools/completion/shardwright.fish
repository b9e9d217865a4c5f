# Completion of shardwright for fish: put it into ~/.config/fish/completions. Verbs, options and devices are asked of the tool itself.
function __shardwright_verbs
	shardwright help 2>/dev/null | string match -r -g '^  ([a-z]+)  +([a-z].*)' | paste - - 2>/dev/null
end
function __shardwright_options
	set -l words (commandline -opc)
	shardwright $words[2] --help 2>/dev/null | string match -r -a -- '--[a-z][a-z-]*' | sort -u
end
complete -c shardwright -n __fish_use_subcommand -f -a '(__shardwright_verbs)'
complete -c shardwright -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' -f -a '(__shardwright_options)'
complete -c shardwright -n 'not __fish_use_subcommand' -l device -x -a '(shardwright devices 2>/dev/null | tail -n +2 | string split -f 1 " ")'
