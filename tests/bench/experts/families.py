"""The strategies that people write: data parallelism, ZeRO, tensor parallelism, and what they combine them to."""
from experts import models
from experts.plan import Plan


def splits(axes):
    """(batch axes, model axes): either may be empty, both are runs of the mesh in either order; some axes may stay unused."""
    axes = list(axes)
    out = [(axes, [])]
    for k in range(1, len(axes)):
        out += [(axes[:k], axes[k:]), (axes[-k:], axes[:-k])]
    out.append(([], axes))
    out += [(axes[:1], [])] if len(axes) > 1 else []
    return out


def batch(plan, axes):
    """The leading dimension of every data argument."""
    for a in plan.program.of_role("data"):
        plan.cut(a, 0, axes)
    plan.next()


def tensor_parallel(plan, rules, axes):
    for pattern, dimension in rules.items():
        for a in plan.program.named(pattern):
            plan.cut(a, dimension, axes)
    plan.next()


def zero(plan, stage, axes):
    """Stage 2 shards what only the update touches, stage 3 the parameters too."""
    for a in plan.program.of_role("state", *(["parameter"] if stage == 3 else [])):
        plan.cut_largest(a, axes)
    plan.next()


def word(axes):
    return "+".join(axes)


def experts_of(program, mesh):
    """-> [(name, document)], no two documents alike."""
    out, seen = [], set()

    def add(parts, *steps):
        plan = Plan(program, mesh)
        names = []
        for name, step, *rest in steps:
            plan.changed = False
            step(plan, *rest)
            if plan.changed:
                names.append(name)
        document = plan.document()
        key = repr(document)
        if key not in seen:
            seen.add(key)
            out.append((parts + " ".join(names) if names else "replicated", document))

    every = list(mesh)
    variants = models.of(models.MEGATRON, program.name) or {}
    embedding = models.of(models.EMBEDDING, program.name)
    spatial = models.of(models.SPATIAL, program.name)
    add("", ("", lambda plan: None))
    for batch_axes, model_axes in splits(every):
        data = ("batch(%s)" % word(batch_axes), batch, batch_axes)
        shards = [[]] + [(stage, axes) for stage in (2, 3) for axes in ([batch_axes] if batch_axes else []) + ([every] if batch_axes != every else [])]
        for shard in shards:
            zeros = [("zero%d(%s)" % (shard[0], word(shard[1])), zero, *shard)] if shard else []
            add("", data, *zeros)
            if not model_axes:
                continue
            for name, rules in variants.items():
                model = ("%s(%s)" % (name, word(model_axes)), tensor_parallel, rules, model_axes)
                add("", data, model, *zeros)
                if embedding:
                    for where, dimension in (("vocabulary", 0), ("width", 1)):
                        add("", data, model, ("embed_%s(%s)" % (where, word(model_axes)), tensor_parallel, {embedding: dimension}, model_axes), *zeros)
            if spatial:
                add("", data, ("%s(%s)" % ("spatial" if "images" in str(spatial) else "sequence", word(model_axes)), tensor_parallel, spatial, model_axes), *zeros)
    return out
