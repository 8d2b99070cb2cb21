"""Slots, codes and record shapes shared by the kernels and the Python side that fills them.

Kernels read their tables through int64 records of addresses (``_jit.view_*``); an array takes two
slots, its address and its size. There are four:

``T``  tables of one grammar over one vocabulary: the pushdown automaton and the token trie
``A``  arena: the interned stack cells, shared by all matchers of a compiled grammar
``R``  rows: the decision trees over stack reads and the finished bitmask rows
``M``  matcher: one configuration id and its history

Everything about a text is one integer, the configuration id: the head of a list of threads. Threads
and stack nodes are the same record, a *cell*

    (state, register, parent, next)

A list of cells linked by ``next`` is a set of alternatives, sorted by falling (parent, state,
register), so that equal sets are equal ids. ``parent`` is the list below. Cells are never changed,
so rollback and fork copy one integer (graph-structured stack, Tomita 1985).
"""

from __future__ import annotations

# Actions: what a state does on a column (a byte class or a pseudo-symbol). Positive: next state.
DEAD = 0
RETURN = -1
GENERAL = -2  # the one action of state MANY: this depth holds several threads
EXPAND = -3  # the front end has not made this part of the automaton yet
PROGRAM = -4  # program p has the action code PROGRAM - p

# Programs are (kind, a, b, then) in PROG.
PUSH = 1  # a: first state of the callee, b: state to return to or 0 for a tail call, then: its rank
CHOICE = 2  # a: offset into ALTS, b: count; every one of those actions at once
# a: symbol, b: KEY_TEXT or ITEM_TEXT if the text just read decides; the register's move, by MOVES;
# then: (ITEM_TEXT) action that leads on wherever some text does
STEP = 3
SET = 4  # a: register, then: action
JUMP = 5  # a: state to go on from with the same byte
COUNT = 6  # a: most, b: least, then: action; one more of what the register counts, dead past most
ENOUGH = 7  # a: least, then: action; dead while the register is below
AT_MOST = 8  # a: most, then: action; dead once the register is above
KEY_TEXT = 1
ITEM_TEXT = 2  # what a mask cannot tell without the text is left out, and the row is TEXTUAL
KEEP = 1 << 40  # no action to resume with

# Cells below FIRST_CELL are fixed. Readers take no lock, so one address has to tell all: the cell
# buffer holds its own hash table, whose offset and mask stand in the unused first cell.
NIL = 0
HASH_OFFSET = 0
HASH_MASK = 1
BOTTOM = 1  # (FINAL, 0, NIL, NIL): what lies under the first frame
FIRST_CELL = 2

CELL = 4  # int32 per cell
CELL_STATE = 0
CELL_REGISTER = 1
CELL_PARENT = 2
CELL_NEXT = 3
UNKNOWN = -1  # state of the scratch cell that stands for the unknown stack below; register: depth

FRAME = 5  # int32 per frame of a walk: register, list, scratch top, first thread, threads
THREAD = 3  # int32 per thread: state, register, list
WORK = 4  # int32 per work item of the general step: action, register, list, state

# Events: where a walk needs to know the stack. (place, kind, depth, action, register)
EVENT = 5
POP = 1  # needs the list at `depth`
READ = 2  # needs the action of program `action`, a step, for the register at `depth`
KNOW = 3  # (of tree nodes) needs the register at `depth` itself
LEFT = 5  # (of tree nodes) needs how many more the counting register allows and asks for
WALK = 4  # needs nothing but to be walked, from state `action`
MODEL = 6  # (of roots) needs the leaf of the body that state `action` is nearly alike
# POP at `action` places from number `place` of the pool on, whose bytes have column `register`
BUNDLE = 7
LEAST_BUNDLED = 32  # places of a tree node that are worth it

# Registers below zero are unknown ones of a walk: -1 - (depth + DEPTHS * chain), where the chain is
# that of the steps taken on it already.
DEPTHS = 256
DEEPEST = 24  # a list further down is told by its id, not by its state

# Chains of steps: (program of the last step, chain of those before it)
CHAIN = 2
CHAIN_PROGRAM = 0
CHAIN_BEFORE = 1

# Decision tree nodes. Their row is a whole one with some tokens set and some cleared (`writing`).
NODE = 10
NODE_KIND = 0
NODE_DEPTH = 1
NODE_ACTION = 2
NODE_FIRST_EVENT = 3
NODE_EVENTS = 4
NODE_BASE = 5  # address of the whole row, 0 where it is empty
NODE_FLAGS = 6
NODE_CHANGES = 7  # address of int32[n]: a token to set, or ~token to clear
NODE_CHAIN = 8  # (READ) steps that the register has taken before the one asked for
NODE_N_CHANGES = 9
LEAF = 0

# The note of a descent that found no leaf: a tree node and the outcome without an edge, or NO_ROOT
# and the state without a root, or NO_MOVE and the register without a move on the symbol, or NO_CELL
# and the modelled state whose body has never been called from here.
NOTE_NODE = 0
NOTE_OUTCOME = 1
NOTE_SYMBOL = 2
NO_ROOT = -1
NO_MOVE = -2
NO_CELL = -3

# How the root of a state is made: by a walk, by the caller, as that of a state nearly alike, from a
# list of texts; or it is not needed, since whatever comes, the state leaves the frame
WALKED = 0
MADE = 1
MODELLED = 2
LEAVES = 3
LISTED = 4

# Row flags
COMPLETE = 1  # the text may end here
FULL = 2  # every token below the vocabulary size is allowed
VACANT = 4  # no bit at all
TEXTUAL = 8  # more tokens may be allowed: the text itself decides

# Statuses. Kernels that decide return REFUSED or ACCEPTED.
REFUSED = 0
ACCEPTED = 1
NEED_SPACE = -1  # double the buffer named in the record's NEEDED word, then call again
NEED_LOCK = -2  # the fast path ends here: take the lock and call the slow kernel
NEED_EXPANSION = -3  # the states and moves in A_MISSING have to be made first
NEED_TEXT = -7  # the step before byte A_RESULT depends on the text just read
OVER_BUDGET = -4
BAD_INDEX = -5
NEED_ROOT = -6  # the missing node is not simply walked: the caller has to make it
NEED_ROW = -8  # no room for rows is left in the last block
NO_WALK = -9  # the local automaton does not do for this walk

# --- T: tables ---------------------------------------------------------------------------------
T_CLASSES = 0  # uint8[256]: byte -> column
T_ACTIONS = 2  # int32[n_states << shift]
T_PROGRAMS = 4  # int32[4 * n]
T_ALTS = 6  # int32[n]
T_TOKEN_KIND = 8  # int32[vocab]: TEXT, BANNED, STOP, or a column of atomic tokens
T_TOKEN_BYTES = 10  # uint8[total]
T_TOKEN_OFFSETS = 12  # int32[vocab + 1]
T_TRIE_BYTE = 14  # uint8[nodes]
T_TRIE_DEPTH = 16  # int16[nodes]
T_TRIE_SKIP = 18  # int32[nodes]
T_TRIE_FIRST = 22  # int32[nodes + 1]
T_TRIE_ORDER = 24  # int32[text tokens]
T_COLUMN_OFFSETS = 26  # int32[columns + 1]: atomic tokens of each pseudo-column
T_COLUMN_TOKENS = 28  # int32[n]
T_VOCAB_SIZE = 30
T_WORDS = 31
T_SHIFT = 32
T_END_COLUMN = 33
T_FIRST_TOKEN_COLUMN = 34
T_TRIE_NODES = 35
T_MANY = 36  # the state whose every action is GENERAL
T_END_TOKENS = 38  # int32[n]: end-of-text token ids
T_STEP_BUDGET = 40
# int64[2 * (1 + n)]: the hash table's mask and a blank, since readers take no lock and one address
# has to tell all; then keys (register + 1) << 32 | symbol, or 0, and moves register << 32 | action
T_MOVES = 41
T_LONGEST = 43  # bytes of the longest token
T_ROOTS = 44  # uint8[states]: WALKED, MADE, MODELLED, LEAVES or LISTED
# int32[2 * states]: of a modelled state the body called instead, and its return; of a listed one
# its number among T_PLACES
T_MODELS = 46
T_OBJECTS = 48  # int64[4 * n]: registers of plain objects, rule 0 for all other registers
T_OBJECT_TABLE = 50  # int32[power of two]: hash table of them
T_SYMBOLS = 52  # int64[5 * n]: what symbols mean to plain objects
T_COMMAS = 54  # int32[n]: action behind a comma by the number of a set of other keys, or 0
T_N_REGISTERS = 56
T_N_MOVES = 57
T_GROUPS = 58  # uint8[256]: the group of each byte
T_BELOW = 60  # int64[nodes]: groups that occur below a trie node
T_LIVE = 62  # int64[states]: groups that a state reads, 0 for not yet looked at
T_LASTING = 64  # int64[states]: groups that a state reads for ever, likewise
T_PLAIN_ROW = 66  # uint32[words]: the tokens of nothing but plain groups
T_REST_BYTE = 68  # the trie without subtrees of nothing but plain groups
T_REST_DEPTH = 70
T_REST_SKIP = 72
T_REST_NODE = 74  # int32[rest]: the node that each was, -1 for those of plain bytes
T_PLAIN = 76  # the plain groups
T_IS_OPEN = 77  # whether the front end makes the automaton as texts reach it
T_RULES = 78  # int64[6 * n]: what plain objects ask for
T_SETS = 80  # int64[n]: sets of more keys than a word has bits, each some words in a row
T_N_SETS = 82  # words of them in use
T_PLACES = 83  # int64[7 * n]: places in lists of texts
T_SIZE = 85

# A place in a sorted list of texts: the texts one behind the other and where they begin (uint8[n]
# and int32[n + 1]), which of them go on here, from low to high, and behind how many bytes.
LISTED_PLACE = 7
LISTED_TEXTS = 0
LISTED_OFFSETS = 2
LISTED_LOW = 4
LISTED_HIGH = 5
LISTED_DEPTH = 6

HIGH = 40  # the group of first bytes of characters beyond ASCII
NO_GROUP = 44  # and of bytes that no character begins with
EVERY = (1 << NO_GROUP) - 1

# A register: (rule, named keys seen, 2 * set of other keys + one not known, keys seen). Keys are
# bits or, where a rule has more of them, the place of a set.
OBJECT = 4
KEYS_OF_WORD = 62
OBJECT_RULE = 0
OBJECT_SEEN = 1
OBJECT_OTHERS = 2
OBJECT_COUNT = 3
# (kind, keys, action, word, end): keys of a set are those words of it alone
SYMBOL = 5
SYMBOL_KIND = 0
SYMBOL_MASK = 1
SYMBOL_ACTION = 2
SYMBOL_WORD = 3
SYMBOL_END = 4
# (keys required, keys of which a comma promises one or 0, action behind others, least, most or 0,
# words of a set or 0 where keys are bits; with sets those required or promised are one, or 0)
RULE = 6
RULE_REQUIRED = 0
RULE_PROMISED = 1
RULE_OTHER = 2
RULE_LEAST = 3
RULE_MOST = 4
RULE_WORDS = 5
# Kinds of symbols.
KEY = 1  # the named key ends, and the action, if it is known, comes
OTHER = 2  # a key that is not known ends, likewise
CLOSE = 3  # possible if all required keys were seen, and so many
COMMA = 4  # possible if not all keys promised were seen, or there are none
GUARD = 5  # possible if not all of its keys were seen
ITEM = 6  # a comma in an array whose items are counted: possible if most did not come yet

# Of T_TOKEN_KIND.
TEXT = -1
BANNED = -2
STOP = -3

# --- A: arena ------------------------------------------------------------------------------------
A_CELLS = 0  # int32: interned cells below the capacity, scratch cells above, then the hash table
A_COUNT = 4
A_CAPACITY = 5
A_SCRATCH = 6  # cells of scratch
A_GUESSED = 7  # set where a walk left out what an item's text decides
A_THREADS = 8  # int32[3 * n]
A_WORK = 10  # int32[4 * n]
A_FORWARD = 12  # int32[scratch]: scratch cell -> interned list
A_PENDING = 14  # int32[4 * n]
A_NEEDED = 16  # slot of the buffer that was too small (negative: of the rows' record)
A_TOP = 17  # first free scratch cell
A_STEPS = 18  # item steps of the running call
A_STATE = 19  # per-depth state of a walk: int32[n]
A_FRAME = 21  # per-depth frame of a walk: int32[n]
A_FRAMES = 23  # int32[5 * n]
A_PREFIX = 25  # int32[n]: cells of a list before an insertion
A_RESULT = 27  # configuration that an advance ended in
A_MISSING = 28  # int32[2 * n]: what to make: registers of moves and their symbols, or states and -1
A_TEXT = 30  # the symbol of the text just read, or one of these
A_N_MISSING = 31
A_NOTE = 32  # where a descent ended, see NOTE
A_ASKED = 35  # how often a walk asked for more of the automaton before it went on without
A_SEARCH = 36  # int32[SCRATCH]: scratch of `kernels.groups`
A_LOCAL = 38  # int32[n << shift]: moves of local states by column, 0 if not made; `kernels.local`
A_LOCAL_CONFIGURATION = 40  # int32[n]
A_LOCAL_OF = 42  # int32[capacity]: configuration -> its local state, 0 none
A_N_LOCAL = 44
A_ROWS = 45  # address of the present generation of rows
A_LOCAL_LASTING = 46  # int64[n]: groups that a local state reads for ever, 0 if not looked for
A_CHANGES = 48  # int32[n]: of the row being made, see NODE_CHANGES
A_N_CHANGES = 50  # WHOLE if the row itself stands where the next row begins
A_BASE = 51
A_SIZE = 52

# Of A_TEXT beside symbols.
NO_TEXT = -1  # who needs it has to ask
ANY_TEXT = -2  # in a mask: what is so whatever it was
SOME_TEXT = -3  # what may be so whatever item it was

WHOLE = -1  # of A_N_CHANGES

LOCAL_LIMIT = 1 << 13
NOWHERE = -1 << 30  # a place to leave events at that are looked at and dropped

# --- R: rows -------------------------------------------------------------------------------------
# Of fixed size, but for events and bundles, which no reader looks at: to grow or clear is to make a
# new generation, so that readers need no lock.
R_ROW_OF = 0  # int32[cells]: configuration id -> tree node + 1, 0 unknown
R_ROOT = 2  # int32[n_states]: state index -> tree node + 1, 0 unknown
R_NODES = 4  # int64[10 * n]
R_EDGES = 6  # int64[2 * power of two]: (node + 1) << 32 | outcome, or 0; child
R_EVENTS = 8  # int32[5 * n]
R_N_NODES = 10
R_N_EDGES = 11
R_N_EVENTS = 12
R_CHAINS = 13  # int32[2 * power of two]: a hash table of chains; number 0 is the empty one
R_FIRST_EVENT = 15  # the first event of the tree node being made
R_FREE = 17  # words left in the last block
R_FREE_ADDRESS = 18  # of the first of them, where the next row begins
R_N_WORDS = 19  # words in use
R_POOL = 20  # int32[n]: places of bundles
R_N_POOL = 22
R_SIZE = 23

# --- M: matcher ----------------------------------------------------------------------------------
M_TABLES = 0  # address of T
M_ARENA = 1  # address of A
M_CONFIGURATION = 2
M_TERMINATED = 3
M_LENGTH = 4  # steps in the own history segment
M_HISTORY = 5  # int32[2 * n]: configuration before each step, and its token
M_STOPS = 7  # int32[n]: stop token ids, if they are not the vocabulary's end ids
M_NOTE = 9  # where a descent ended, see NOTE
M_SIZE = 12
