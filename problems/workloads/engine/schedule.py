"""Which requests a step computes, and how many tokens of each: no GPU, no time, no tokens read."""

from collections import deque
from dataclasses import dataclass, field

from workloads.engine.blocks import Blocks
from workloads.engine.options import Options


@dataclass(eq=False)
class Request:
    """A prompt and what became of it."""

    name: str
    prompt: list[int]
    most_new: int
    output: list[int] = field(default_factory=list)
    promised: int = 0
    """Tokens that launched steps will have added to the output, those already read included."""
    computed: int = 0
    """Tokens whose keys and values the cache holds, or will once the launched steps have run."""
    blocks: list[int] = field(default_factory=list)
    saved: list[int] = field(default_factory=list)
    """Blocks of host memory that hold what was computed, while the request is preempted."""
    slot: int = -1
    """Row of the block tables, while it runs."""
    tabled: int = 0
    """Blocks that this row lists already."""
    reused: int = 0
    preempted: int = 0
    ended: bool = False
    order: int = 0
    """Its place among all that were submitted."""

    @property
    def length(self) -> int:
        """Return how many tokens it has, promised ones included."""
        return len(self.prompt) + self.promised

    @property
    def due(self) -> int:
        """Return how many of its tokens are to be computed: 1 while it decodes."""
        return 0 if self.promised >= self.most_new else self.length - self.computed

    def tokens(self) -> list[int]:
        """Return the tokens that have been read."""
        return self.prompt + self.output


@dataclass(frozen=True)
class Row:
    """``count`` tokens of a request from ``start`` on; ``samples``: the last one makes a token."""

    request: Request
    start: int
    count: int
    samples: bool


@dataclass
class Plan:
    """A step: rows of one token first, then longer ones, and blocks to copy before it."""

    rows: list[Row] = field(default_factory=list)
    saves: list[tuple[int, int]] = field(default_factory=list)
    """Blocks to copy to host memory, (block, host block), before anything is written."""
    loads: list[tuple[int, int]] = field(default_factory=list)
    """Blocks to copy back, (host block, block)."""
    entered: list[Request] = field(default_factory=list)
    preempted: list[Request] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """Return how many tokens the step computes."""
        return sum(row.count for row in self.rows)

    @property
    def decodes(self) -> int:
        """Return how many rows have one token: they stand first."""
        return sum(row.count == 1 for row in self.rows)


class Scheduler:
    """Requests wait in order of arrival, run, and leave; the oldest never gives way to a newer."""

    def __init__(self, options: Options, blocks: int, host_blocks: int = 0) -> None:
        self.options = options
        self.blocks = Blocks(blocks, options.block)
        self.host = Blocks(host_blocks, options.block)
        self.waiting: deque[Request] = deque()
        self.running: list[Request] = []
        self._slots = list(range(options.most_running, 0, -1))
        self._submitted = 0

    def submit(self, request: Request) -> None:
        """Let a request wait.

        Raises
        ------
        ValueError
            It could not run even alone.

        """
        whole = self.blocks.needed(len(request.prompt) + request.most_new)
        if not request.prompt or request.most_new < 1:
            raise ValueError(f"request {request.name}: needs a prompt and at least one new token")
        if whole > self.blocks.count:
            raise ValueError(
                f"request {request.name}: needs {whole} blocks, the cache has {self.blocks.count}"
            )
        request.order, self._submitted = self._submitted, self._submitted + 1
        self.waiting.append(request)

    def plan(self) -> Plan:
        """Choose the next step's rows and count them as computed; no rows: nothing to do."""
        plan = Plan()
        if self.options.chunked:
            self._continue(plan, self.options.token_budget)
            self._admit(plan, self.options.token_budget - plan.tokens)
        else:
            self._admit(plan, self.options.token_budget)
            if not plan.rows:
                self._continue(plan, self.options.token_budget)
        plan.rows.sort(key=lambda row: row.count > 1)
        for row in plan.rows:
            self._count(row)
        return plan

    def end(self, request: Request) -> None:
        """Let go of a request that has its tokens, or that its user gave up."""
        request.ended = True
        if request in self.waiting:
            self.waiting.remove(request)
            self.host.give_back(request.saved)
            request.saved = []
        leaving = [request] if request in self.running else []
        if self.options.batching == "static":
            leaving = self.running if all(one.ended for one in self.running) else []
        for one in list(leaving):
            self.running.remove(one)
            self._let_go(one)

    def _count(self, row: Row) -> None:
        """Count a row's tokens as computed, and its prompt's blocks as known once they are full."""
        request, prompt = row.request, len(row.request.prompt)
        request.computed = max(request.computed, row.start + row.count)
        request.promised += row.samples
        if self.options.reuse_prefixes and row.start < prompt <= request.computed:
            self.blocks.know(request.prompt, request.blocks)

    def _continue(self, plan: Plan, budget: int) -> None:
        """Give running requests tokens: decodes, then the oldest; at need preempt the newest."""
        for request in sorted(self.running, key=lambda one: (one.due > 1, one.order)):
            if request.ended:  # a static batch's row, computed and thrown away
                plan.rows.append(Row(request, request.computed - 1, 1, samples=False))
            count = min(request.due, budget)
            if request.ended or request not in self.running or count < 1:
                continue
            if self._grow(request, request.computed + count, plan):
                plan.rows.append(_row(request, count))
                budget -= count

    def _grow(self, request: Request, tokens: int, plan: Plan) -> bool:
        """Let ``request`` hold blocks for ``tokens`` tokens; False: it was preempted itself."""
        lacking = self.blocks.needed(tokens) - len(request.blocks)
        while lacking > self.blocks.free:
            victim = self.running[-1]
            self._preempt(victim, plan)
            if victim is request:
                return False
        if lacking > 0:
            request.blocks += self.blocks.take(lacking)
        return True

    def _admit(self, plan: Plan, budget: int) -> None:
        """Let waiting requests run, in order, while slots, blocks and budget last."""
        static = self.options.batching == "static"
        if plan.preempted or (static and self.running):
            return
        while self.waiting and self._slots and (budget > 0 or static):
            request = self.waiting[0]
            if not self._enter(request, plan, budget, first=not plan.rows or static):
                return
            self.waiting.popleft()
            self.running.append(request)
            self.running.sort(key=lambda one: one.order)
            budget -= plan.rows[-1].count

    def _enter(self, request: Request, plan: Plan, budget: int, first: bool) -> bool:
        """Give a waiting request its slot, its blocks and its first tokens, if it fits.

        ``first``: a whole prompt may exceed the budget.
        """
        found = self._found(request)
        computed = request.computed if request.saved else len(found) * self.blocks.size
        count = request.length - computed
        if self.options.chunked:
            count = min(count, budget)
        tokens = computed + count
        if self.options.reservation == "whole":
            tokens = len(request.prompt) + request.most_new
        lacking = self.blocks.needed(tokens) - len(found)
        if lacking > self.blocks.free or (count > budget and not first):
            self.blocks.give_back(found)
            return False
        own = self.blocks.take(lacking)
        request.blocks, request.computed = found + own, computed
        request.reused += len(found) * self.blocks.size
        plan.loads += zip(request.saved, own, strict=False)
        self.host.give_back(request.saved)
        request.saved, request.slot, request.tabled = [], self._slots.pop(), 0
        plan.entered.append(request)
        plan.rows.append(_row(request, count))
        return True

    def _found(self, request: Request) -> list[int]:
        if self.options.reuse_prefixes and not request.saved:
            return self.blocks.find(request.tokens())
        return []

    def _preempt(self, request: Request, plan: Plan) -> None:
        """Let a running request wait again, in front; what it computed is saved, or lost."""
        keep = self.blocks.needed(request.computed)
        if self.options.offload and 0 < keep <= self.host.free:
            request.saved = self.host.take(keep)
            plan.saves += zip(request.blocks, request.saved, strict=False)
        else:
            request.computed = 0
        plan.rows = [row for row in plan.rows if row.request is not request]
        plan.preempted.append(request)
        request.preempted += 1
        self.running.remove(request)
        self._let_go(request)
        self.waiting.appendleft(request)

    def _let_go(self, request: Request) -> None:
        self.blocks.give_back(request.blocks)
        self._slots.append(request.slot)
        request.blocks, request.slot = [], -1


def _row(request: Request, count: int) -> Row:
    return Row(request, request.computed, count, samples=request.computed + count == request.length)
