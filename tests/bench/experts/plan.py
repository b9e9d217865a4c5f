"""A strategy under construction: cuts in the order they are made, each with the Shardy user priority of its step."""


class Plan:
    """Every argument of rank 1 or more is decided and closed, as in_shardings of a jitted step do it; the result that
    replaces an argument has its sharding. A cut that does not divide its dimension, or whose axis the argument has
    already, leaves that argument as it is."""

    def __init__(self, program, mesh):
        self.program, self.mesh = program, mesh
        self.dims = {a.index: [[] for _ in a.shape] for a in program.arguments if a.shape}
        self.priority = {i: [0] * len(d) for i, d in self.dims.items()}
        self.level = 0
        self.changed = False

    def parts(self, argument, dimension):
        n = 1
        for axis in self.dims[argument.index][dimension]:
            n *= self.mesh[axis]
        return n

    def can(self, argument, dimension, axis):
        used = any(axis in axes for axes in self.dims[argument.index])
        return not used and argument.shape[dimension] % (self.parts(argument, dimension) * self.mesh[axis]) == 0

    def cut(self, argument, dimension, axes):
        """Over each of the axes that still divides the dimension (negative: from the end)."""
        if not -len(argument.shape) <= dimension < len(argument.shape):
            return
        dimension %= len(argument.shape)
        for axis in axes:
            if self.can(argument, dimension, axis):
                if not self.dims[argument.index][dimension]:
                    self.priority[argument.index][dimension] = self.level
                self.dims[argument.index][dimension].append(axis)
                self.changed = True

    def cut_largest(self, argument, axes):
        """Each axis on the dimension that has the largest shard left."""
        for axis in axes:
            free = [d for d in range(len(argument.shape)) if self.can(argument, d, axis)]
            if free:
                self.cut(argument, max(free, key=lambda d: (argument.shape[d] // self.parts(argument, d), -d)), [axis])

    def document(self):
        def entry(i):
            return {"index": i, "sharding": self.dims[i], "priority": self.priority[i]}
        decided = [a for a in self.program.arguments if a.shape]
        return {"format": "shardwright.strategy/1", "mesh": {"axes": [{"name": name, "size": size} for name, size in self.mesh.items()]},
                "arguments": [entry(a.index) for a in decided],
                "results": [dict(entry(a.index), index=a.result) for a in decided if a.result is not None]}
