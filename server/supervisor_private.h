/* The inside of the supervisor: its slots, each with a worker and its search. */
#ifndef SW_SERVER_SUPERVISOR_PRIVATE_H
#define SW_SERVER_SUPERVISOR_PRIVATE_H

#include "server/server.h"

enum { LOOK_MS = 1000 }; /* how often it looks whether something has changed unseen */

typedef enum slot_state {
	SLOT_FREE,
	SLOT_RUNNING,
	SLOT_DONE
} slot_state; /* DONE: its result waits to be committed */

typedef struct slot {
	slot_state state;
	char id[SEARCH_ID_BYTES];
	int64_t attempt;
	char module[ID_BYTES];
	child worker;
	bool out_ended, err_ended, canceled, overtime, flooded;
	int64_t started_ns, deadline_ns, kill_ns,
		ended_ns;          /* kill_ns: when SIGKILL follows SIGTERM, 0: no SIGTERM yet */
	strbuf out, err, tail; /* err: unread lines; tail: the last lines that are no events */
	search_event waiting;  /* the newest event, held back to keep the rate down; kind NULL: none */
	int64_t last_event_ns;
	search_finish finish;
	int64_t alive_ns, look_ns,
		cpu_ticks; /* when it last spoke or computed; when to look again; what it had taken then */
	bool out_of_memory, frozen;
	int64_t kills; /* kernel_memory_kills() at its start */
	int64_t retry_ns;
} slot;

struct supervisor {
	server *srv;
	pthread_t thread;
	int wake_fd;
	atomic_bool stop;
	_Atomic int64_t turned_ns;
	pthread_mutex_t mutex; /* of cancels; a leaf */
	VEC(struct { char id[SEARCH_ID_BYTES]; }) cancels;
	int64_t next_beat_ns, next_look_ns;
	bool queue_empty;                 /* nothing to claim until a kick or the next look */
	int64_t start_ns, start_pause_ns; /* no start before start_ns; the pause of the last failure, 0:
	                                     the last one went well */
	uint32_t slot_count;
	slot slots[];
};

/* supervisor_start.c: claims a search for a free slot and starts its worker. */
void supervisor_claim(supervisor *v);
/* No start for a while: the daemon is short of something. */
void supervisor_pause_starts(supervisor *v);
/* The worker has ended, or there was none: what is to be committed of it. */
void slot_begin_finish(slot *s, search_outcome outcome);
void slot_remove_work(const supervisor *v, const slot *s);

/* supervisor_end.c */
void slot_ask_to_end(slot *s);                    /* SIGTERM, then SIGKILL */
void slot_end_worker(slot *s, int signal_number); /* sends it to all of its processes */
void slot_reap(supervisor *v, slot *s);           /* once all it said is read */
/* Offers the result to the store; again later where that cannot be written. */
void slot_commit(supervisor *v, slot *s);
void slot_check_heartbeat(supervisor *v, slot *s, int64_t now);
void slot_check_time(slot *s, int64_t now);

/* supervisor.c: writes down the event that was held back. */
void slot_flush_event(supervisor *v, slot *s);

#endif
