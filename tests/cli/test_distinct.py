"""The bank of distinct kernels: how kernels of a scheduled text are told apart."""
import os
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
OTHERS = {name: sys.modules.pop(name, None) for name in ("cases", "mint", "bank", "short", "experts")}  # other folders have such files, too
PATHS = list(sys.path)
sys.path.insert(0, os.path.join(ROOT, "tests", "judged"))
import distinct  # noqa: E402
sys.path[:] = PATHS
for name, module in OTHERS.items():
    sys.modules.pop(name, None)
    if module:
        sys.modules[name] = module

TEXT = """HloModule m, is_scheduled=true

%work (p: f32[1024,1024]) -> f32[1024,1024] {
  %p = f32[1024,1024]{1,0} parameter(0)
  ROOT %t = f32[1024,1024]{1,0} tanh(%p)
}

ENTRY %main (a: f32[1024,1024]) -> f32[1024,1024] {
  %a = f32[1024,1024]{1,0} parameter(0)
  %first = f32[1024,1024]{1,0} fusion(%a), kind=kLoop, calls=%work, backend_config={"estimated_cycles":"30000","a":"b"}
  %second = f32[1024,1024]{1,0} fusion(%first), kind=kLoop, calls=%work, backend_config={"estimated_cycles":"30000","a":"b"}
  ROOT %third = f32[1024,1024]{0,1} fusion(%second), kind=kLoop, calls=%work, backend_config={"estimated_cycles":"40000","a":"b"}
}
"""


def test_kernels_are_one_where_types_layouts_and_ops_are_the_same():
    kernels = {}
    assert distinct.add(TEXT, "tpu-v5e", "family", kernels) == 2
    rows = sorted(kernels["tpu-v5e"].values(), key=lambda row: row[1])
    assert rows == [["family", 30000, 2, [[], [], []]], ["family", 40000, 1, [[], [], []]]]


def test_kernels_of_the_bank_are_programs_that_simulate_reads():
    kernels = {}
    distinct.add(TEXT, "tpu-v5e", "family", kernels)
    # 8 MiB through memory, by the profile and not by the cycles in the text
    assert all(8000 < ours < 20000 for ours in distinct.our_times(list(kernels["tpu-v5e"]), "tpu-v5e"))


def test_kernels_with_a_part_of_a_collective_are_left_out():
    kernels = {}
    two = "%sum (x: f32[], y: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  %y = f32[] parameter(1)\n  ROOT %z = f32[] add(%x, %y)\n}\n\n"
    inside = TEXT.replace("%work (p", two + "%work (p").replace("  ROOT %t = f32[1024,1024]{1,0} tanh(%p)", "  %c = f32[1024,1024]{1,0} all-reduce(%p), to_apply=%sum\n  ROOT %t = f32[1024,1024]{1,0} tanh(%c)")
    assert distinct.add(inside, "tpu-v5e", "family", kernels) == 0


def test_kinds():
    def kind(line):
        return distinct.kind_of('[[["c0", ["%i0 = f32[8]{0} parameter(0)", "%i1 = ' + line + '"]]], ["f32[8]{0}"], ["f32[8]{0}", "fusion", "%p0), kind=kLoop, calls=%c0"]]')
    assert kind("f32[8,8]{1,0} convolution(%i0, %i0), dim_labels=bf_io->bf") == "product"
    assert kind("f32[4,8,8]{2,1,0} convolution(%i0, %i0), window={size=4 stride=3 lhs_dilate=4}, dim_labels=0bf_0io->0bf") == "product"
    assert kind("f32[8,4,4,8]{3,2,1,0} convolution(%i0, %i0), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f") == "convolution"
    assert kind("f32[]{} reduce(%i0, %i0), dimensions={0}") == "reduction"
    assert kind("f32[8]{0} add(%i0, %i0)") == "elementwise"
