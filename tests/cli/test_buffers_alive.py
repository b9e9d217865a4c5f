"""tests/judged/alive.py reads XLA's dumps of buffers: what is alive at the peak, and how large a heap a first fit makes."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "judged"))
import alive  # noqa: E402
del sys.path[0]  # other folders have files of the same names, too

LIVES = """  BufferLiveRange:
    a{}:0-2
    b{}:1-4
    c{0}:3-6
    d{}:4-9
"""
ASSIGNMENT = """BufferAssignment:
allocation 0: size 64, page 0, parameter 0, shape |f32[16]| at ShapeIndex {}:
 value: <1 p @0> (size=64,offset=0): f32[16]{0}
allocation 1: size 700, page 0, preallocated-temp:
 value: <2 a @0> (size=100,offset=0): f32[25]{0}
 value: <3 b @0> (size=200,offset=100): f32[50]{0}
 value: <4 c{0} @0> (size=150,offset=300): f32[37]{0}
 value: <5 d @0> (size=200,offset=100): f32[50]{0}
allocation 2: size 4096, color 1, page 0, preallocated-temp:
 value: <6 a @0> (size=4096,offset=0): f32[1024]{0}
"""


def test_heap_is_that_of_main_memory():
    size, buffers = alive.heap_of(ASSIGNMENT, alive.lives_of(LIVES))
    assert size == 700
    assert [b.name for b in buffers] == ["a{}", "b{}", "c{0}", "d{}"]


def test_what_shares_a_place_is_alive_once():
    buffers = alive.heap_of(ASSIGNMENT, alive.lives_of(LIVES))[1]
    assert sorted(b.bytes for b in alive.at_peak(buffers)) == [150, 200]
    assert sorted(alive.intervals_of(buffers)) == [(100, 0, 2), (150, 3, 6), (200, 1, 9)]


def test_first_fit_fragments():
    # the third does not fit where the first was, although no more than 250 bytes are alive at a time
    assert alive.first_fit([(100, 0, 2), (100, 1, 5), (150, 3, 6)]) == 350
    assert alive.first_fit([(100, 0, 2), (100, 1, 5), (100, 3, 6)]) == 200
