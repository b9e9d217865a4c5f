/* Scanning of MLIR text, byte by byte, without a token list: the text ends in a zero byte, which no
 * rule accepts, so scanning needs no other bound. */
#ifndef SW_IR_LEX_H
#define SW_IR_LEX_H

#include "ir/ir.h"

typedef struct lexer {
	const char *text, *p, *end;
	diag *d;
	uint32_t depth; /* open regions and brackets */
} lexer;

/* Bits of lex_class: letters and underscore; digits; what continues an identifier; what continues a
 * suffix after % or #; blanks; hexadecimal digits. */
enum { LEX_LETTER = 1, LEX_DIGIT = 2, LEX_WORD = 4, LEX_SUFFIX = 8, LEX_SPACE = 16, LEX_HEX = 32 };
extern const uint8_t lex_class[256];

static inline bool lex_is(char c, int mask) { return lex_class[(unsigned char)c] & mask; }

void lex_comment(lexer *l);
/* To the next byte that is no space and in no comment. */
static inline void lex_skip(lexer *l)
{
	for (;;) {
		while (lex_is(*l->p, LEX_SPACE))
			l->p++;
		if (*l->p != '/' || l->p[1] != '/')
			return;
		lex_comment(l);
	}
}
static inline char lex_peek(lexer *l)
{
	lex_skip(l);
	return *l->p;
}
static inline bool lex_take(lexer *l, char c)
{
	lex_skip(l);
	if (*l->p != c)
		return false;
	l->p++;
	return true;
}

/* Errors at a place in the text; lex_expected names what stands there instead. */
status lex_error(lexer *l, const char *at, status code, const char *fmt, ...) PRINTF_LIKE(4, 5);
status lex_expected(lexer *l, const char *what);

bool lex_take_text(lexer *l, const char *text); /* punctuation such as -> */
bool lex_at_word(lexer *l, const char *word);   /* the whole identifier is this one */
bool lex_take_word(lexer *l, const char *word);
status lex_expect(lexer *l, char c) MUST_USE;
status lex_expect_text(lexer *l, const char *text) MUST_USE;
status lex_expect_word(lexer *l, const char *word) MUST_USE;

str lex_word(lexer *l);                         /* identifier with dots; empty when there is none */
str lex_suffix(lexer *l);                       /* right here, after % # @ or ^ */
status lex_string(lexer *l, str *out) MUST_USE; /* without quotes, escapes kept */
status lex_int(lexer *l, int64_t *out) MUST_USE;
/* Symbol after @ (which is taken): a suffix identifier or a quoted string. */
status lex_symbol(lexer *l, str *out) MUST_USE;
/* From an opening bracket to its partner, both included; strings inside are skipped, > after - is
 * no bracket. */
status lex_balanced(lexer *l, str *out) MUST_USE;

status lex_enter(lexer *l) MUST_USE; /* one level deeper, or ERR_LIMIT */
static inline void lex_leave(lexer *l) { l->depth--; }

static inline str lex_view(const char *from, const char *to)
{
	return (str){from, (size_t)(to - from)};
}

#endif
