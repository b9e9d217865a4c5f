"""The strategies that people write: data parallelism, ZeRO, tensor and sequence parallelism, and what they combine them to."""
from experts import models
from experts.plan import Plan


def splits(axes):
    """(batch axes, model axes): runs of the mesh in either order; both may be empty, and axes may stay unused."""
    axes = list(axes)
    out = [(axes, [])]
    for k in range(1, len(axes)):
        out += [(axes[:k], axes[k:]), (axes[-k:], axes[:-k])]
    out.append(([], axes))
    return out + ([(axes[:1], [])] if len(axes) > 1 else [])


def batch(plan, axes):
    """The leading dimension of every data argument."""
    for a in plan.program.of_role("data"):
        plan.cut(a, 0, axes)


def by_name(plan, rules, axes):
    for pattern, dimension in rules.items():
        for a in plan.program.named(pattern):
            plan.cut(a, dimension, axes)


def zero(plan, stage, axes):
    """Stage 2 shards what only the update touches, stage 3 the parameters too."""
    for a in plan.program.of_role("state", *(["parameter"] if stage == 3 else [])):
        plan.cut_largest(a, axes)


def experts_of(program, mesh):
    """-> [(name, document)], no two documents alike."""
    out, seen = [], set()

    def add(*steps):
        """steps: (name, axes, function of plan, arguments.., axes)."""
        plan, names = Plan(program, mesh), []
        for name, axes, step, *arguments in steps:
            plan.changed = False
            step(plan, *arguments, axes)
            plan.level += 1
            if plan.changed:
                names.append("%s(%s)" % (name, "+".join(axes)))
        document = plan.document()
        if repr(document) not in seen:
            seen.add(repr(document))
            out.append((" ".join(names) or "replicated", document))

    every = list(mesh)
    tensor = models.of(models.TENSOR, program.name)
    embedding = models.of(models.EMBEDDING, program.name)
    spatial = models.of(models.SPATIAL, program.name)
    add()
    for batch_axes, model_axes in splits(every):
        data = ("batch", batch_axes, batch)
        zeros = [[]] + [[("zero%d" % stage, axes, zero, stage)] for stage in (2, 3)
                        for axes in ([batch_axes] if batch_axes else []) + ([every] if batch_axes != every else [])]
        for shard in zeros:
            add(data, *shard)
            for name, rules in spatial.items() if model_axes else ():
                add(data, (name, model_axes, by_name, rules), *shard)
            for where, rules in embedding.items() if model_axes else ():
                add(data, ("embed_" + where, model_axes, by_name, rules), *shard)
            for name, rules in tensor.items() if model_axes else ():
                model = (name, model_axes, by_name, rules)
                add(data, model, *shard)
                for where, table in embedding.items():
                    add(data, model, ("embed_" + where, model_axes, by_name, table), *shard)
                # Batch and rows over some axes, tensors over the rest; the sequence and tensors over the same axes.
                for place, dimensions in spatial.items():
                    add(data, (place, model_axes, by_name, dimensions), model, *shard)
                    if len(model_axes) > 1:
                        add(data, (place, model_axes[:1], by_name, dimensions), (name, model_axes[1:], by_name, rules), *shard)
    return out
