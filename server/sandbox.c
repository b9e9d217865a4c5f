/* What a worker may do: read the programs of the system, its module and its work folder, write to
 * its pipes, compute. One that is led astray by a module finds no network, no file of others,
 * nobody to signal. no_new_privs everywhere; Landlock for files and a seccomp filter for the rest
 * where the kernel has them. Sanitizers need what the filter denies and go without. */
#include "server/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CONFINED 0
#elif defined(__has_feature)
#define CONFINED (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
#else
#define CONFINED 1
#endif

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

bool sandbox_possible(void) { return CONFINED; }

/* ---------------------------------------------------------------- files */

#define READ (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define RUN (READ | LANDLOCK_ACCESS_FS_EXECUTE)
#define WRITE \
	(READ | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | \
		LANDLOCK_ACCESS_FS_REMOVE_FILE)
#define ON_FILES \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE)
/* Every right of the first version of Landlock is taken; those listed above are given back. */
#define ALL ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

/* A path that is not there needs no rule. False: for a shortage there is none, and the worker would
 * find its own files forbidden. */
static bool allow(int rules, const char *path, uint64_t rights, bool is_file)
{
	struct landlock_path_beneath_attr rule = {
		.allowed_access = is_file ? rights & ON_FILES : rights};
	rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (rule.parent_fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES;
	bool short_of =
		syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0 &&
		errno == ENOMEM;
	close(rule.parent_fd);
	return !short_of;
}

static bool allow_list(int rules, const char *list)
{
	bool ok = true;
	for (const char *p = list; p && *p; p += strcspn(p, ":"), p += *p == ':') {
		char path[512];
		snprintf(path, sizeof path, "%.*s", (int)MIN(strcspn(p, ":"), 511), p);
		if (path[0] == '/')
			ok = allow(rules, path, RUN, false) && ok;
	}
	return ok;
}

bool sandbox_rules(const char *binary, const char *store_path, bool writes, int *out)
{
	static const char *const system[] = {
		"/usr", "/lib", "/lib32", "/lib64", "/bin", "/nix/store", "/gnu/store"};
	static const char *const facts[] = {"/etc/ld.so.cache", "/dev/null", "/proc/cpuinfo",
		"/proc/meminfo", "/proc/stat", "/proc/sys/vm/overcommit_memory"};
	*out = -1;
	if (!CONFINED ||
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) < 1)
		return true;
	struct landlock_ruleset_attr attr = {.handled_access_fs = ALL};
	int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
	if (rules < 0)
		return false;
	bool ok = allow(rules, "/sys/devices/system", READ, false) && allow(rules, binary, RUN, true) &&
		allow_list(rules, getenv("LD_LIBRARY_PATH"));
	for (size_t i = 0; ok && i < COUNT_OF(system); i++)
		ok = allow(rules, system[i], RUN, false);
	for (size_t i = 0; ok && i < COUNT_OF(facts); i++)
		ok = allow(rules, facts[i], READ | LANDLOCK_ACCESS_FS_WRITE_FILE, true);
	static const struct {
		const char *folder;
		bool temporary;
	} parts[] = {{"objects", false}, {"emitted", false}, {"work", false}, {"tmp", true}};
	for (size_t i = 0; ok && store_path && i < COUNT_OF(parts); i++) {
		char path[600];
		snprintf(path, sizeof path, "%s/%s", store_path, parts[i].folder);
		ok = allow(rules, path, parts[i].temporary && writes ? WRITE : READ, false);
	}
	*out = rules; /* the caller's to close */
	return ok;
}

/* ---------------------------------------------------------------- system calls */

static const int denied[] = {
	/* network */
	SYS_socket,
	SYS_socketpair,
	SYS_connect,
	SYS_bind,
	SYS_listen,
	SYS_accept,
	SYS_accept4,
	SYS_sendto,
	SYS_sendmsg,
	SYS_io_uring_setup,
	/* other processes */
	SYS_ptrace,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_kill,
	SYS_tkill,
	SYS_rt_sigqueueinfo,
	SYS_rt_tgsigqueueinfo,
	SYS_pidfd_open,
	SYS_pidfd_send_signal,
	SYS_pidfd_getfd,
	SYS_setpriority,
	SYS_kcmp,
	/* what Landlock does not see of files */
	SYS_fchmodat,
	SYS_fchownat,
	SYS_fchown,
	SYS_utimensat,
	SYS_setxattr,
	SYS_lsetxattr,
	SYS_fsetxattr,
	SYS_truncate,
#ifdef SYS_chmod
	SYS_chmod,
	SYS_chown,
	SYS_lchown,
	SYS_utime,
	SYS_utimes,
	SYS_futimesat,
#endif
	/* the machine */
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_unshare,
	SYS_setns,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_sethostname,
	SYS_userfaultfd,
	SYS_acct,
	SYS_quotactl,
};

#define REFUSE (SECCOMP_RET_ERRNO | EPERM)
#define AT(field) ((uint32_t)offsetof(struct seccomp_data, field))

/* Between fork and exec: no allocation, no lock. The number of the process stays the same over the
 * exec. */
static bool filter_calls(void)
{
#ifdef ARCHITECTURE
	enum { MOST = 2 * COUNT_OF(denied) + 24 };
	struct sock_filter f[MOST];
	unsigned short n = 0;
	uint32_t self = (uint32_t)getpid();
#define ADD(...) f[n++] = (struct sock_filter)__VA_ARGS__
	ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT(arch)));
	ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
	ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
	ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT(nr)));
	ADD(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1)); /* the x32 way to call */
	ADD(BPF_STMT(BPF_RET | BPF_K, REFUSE));
	for (size_t i = 0; i < COUNT_OF(denied); i++) {
		ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)denied[i], 0, 1));
		ADD(BPF_STMT(BPF_RET | BPF_K, REFUSE));
	}
	ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 1, 0)); /* abort() signals itself */
	ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prlimit64, 0, 4));
	ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, AT(args[0])));
	ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, self, 2, 0));
	ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
	ADD(BPF_STMT(BPF_RET | BPF_K, REFUSE));
	ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
#undef ADD
	struct sock_fprog program = {n, f};
	/* A kernel without filters: files and privileges are still guarded. */
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 || errno == EINVAL ||
		errno == ENOSYS;
#else
	return true;
#endif
}

bool sandbox_enter(int rules)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return false;
	if (rules >= 0 && syscall(SYS_landlock_restrict_self, rules, 0) != 0)
		return false;
	return !CONFINED || filter_calls();
}
