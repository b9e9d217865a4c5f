/* TLS: certificate chain and key from two PEM files, read again by SIGHUP. Handshakes under way
 * keep the ones they began with, so old ones stay in memory; there are few. */
#include "server/access.h"

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>

enum { PEM_LIMIT = 1 << 20, MOST_CERTIFICATES = 16 };

typedef struct identity {
	gnutls_pcert_st chain[MOST_CERTIFICATES];
	unsigned count;
	gnutls_privkey_t key;
} identity;

static _Atomic(identity *) current; /* libmicrohttpd's callback has no argument of ours */

static int retrieve(gnutls_session_t session, const gnutls_datum_t *authorities,
	int authority_count, const gnutls_pk_algorithm_t *algorithms, int algorithm_count,
	gnutls_pcert_st **chain, unsigned *count, gnutls_privkey_t *key)
{
	identity *now = atomic_load(&current);
	(void)session, (void)authorities, (void)authority_count, (void)algorithms,
		(void)algorithm_count;
	*chain = now->chain;
	*count = now->count;
	*key = now->key;
	return 0;
}

void *tls_callback(void) { return (void *)retrieve; }

/* The library itself checks that the two belong together. */
static int check_pair(const gnutls_datum_t *chain, const gnutls_datum_t *key)
{
	gnutls_certificate_credentials_t pair;
	int rc = gnutls_certificate_allocate_credentials(&pair);
	if (rc != 0)
		return rc;
	rc = gnutls_certificate_set_x509_key_mem(pair, chain, key, GNUTLS_X509_FMT_PEM);
	gnutls_certificate_free_credentials(pair);
	return rc;
}

static int read_identity(identity *id, const gnutls_datum_t *chain, const gnutls_datum_t *key)
{
	int rc = check_pair(chain, key);
	id->count = MOST_CERTIFICATES;
	if (rc == 0)
		rc =
			gnutls_pcert_list_import_x509_raw(id->chain, &id->count, chain, GNUTLS_X509_FMT_PEM, 0);
	if (rc == 0)
		rc = gnutls_privkey_init(&id->key);
	return rc ? rc : gnutls_privkey_import_x509_raw(id->key, key, GNUTLS_X509_FMT_PEM, NULL, 0);
}

status tls_load(const options *o, diag *d)
{
	strbuf chain, key;
	strbuf_init(&chain);
	strbuf_init(&key);
	status s = file_read(o->tls_cert, PEM_LIMIT, &chain, d);
	if (s == ST_OK)
		s = file_read(o->tls_key, PEM_LIMIT, &key, d);
	if (s == ST_OK) {
		identity *id = xcalloc(1, sizeof *id);
		int rc = read_identity(id, &(gnutls_datum_t){(unsigned char *)chain.p, (unsigned)chain.n},
			&(gnutls_datum_t){(unsigned char *)key.p, (unsigned)key.n});
		if (rc == 0)
			atomic_store(&current, id);
		else
			s = diag_set(d, ST_ERR_INVALID, "'%s' and '%s' are no certificate and its key: %s",
				o->tls_cert, o->tls_key, gnutls_strerror(rc));
	}
	if (key.p)
		gnutls_memset(key.p, 0, key.n);
	strbuf_release(&chain);
	strbuf_release(&key);
	return s;
}

/* What libmicrohttpd reads of a connection once it is decrypted passes the gate as plain bytes do.
 */
ssize_t gnutls_record_recv(gnutls_session_t session, void *to, size_t n)
{
	gate *g = gate_of_tls(gnutls_transport_get_int(session));
	if (!g || !n)
		return gnutls_record_recv_seq(session, to, n, NULL);
	if (gate_stopped(g)) {
		char waste[4096];
		for (int i = 0; i < 64 && gnutls_record_recv_seq(session, waste, sizeof waste, NULL) > 0;
			 i++)
			;
		size_t ours = gate_pass(g, to, 0, n);
		return ours ? (ssize_t)ours : gate_ended(g) ? 0 : GNUTLS_E_AGAIN;
	}
	ssize_t got = gnutls_record_recv_seq(session, to, n, NULL);
	return got > 0 ? (ssize_t)gate_pass(g, to, (size_t)got, n) : got;
}
