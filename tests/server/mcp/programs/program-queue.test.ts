import { describe, expect, it } from "vitest";
import type { ProgramRequest } from "../../../../execution/run-request.ts";
import { ProgramPlaces } from "../../../../server/mcp/programs/program-places.ts";
import {
  answering,
  CONNECT,
  connectLegacy,
  ERAS,
  progressOptions,
  RawClient,
  signalOptions,
} from "../clients.ts";
import { CONTEXT, connectTo, executed, executing, REQUEST, serve, valued } from "../served.ts";

/** Programs that run until they are told to end. */
class Gates {
  readonly started: string[] = [];
  readonly #release = new Map<string, () => void>();

  async pass(code: string): Promise<void> {
    this.started.push(code);
    await new Promise<void>((resolve) => this.#release.set(code, resolve));
  }

  async open(code: string): Promise<void> {
    await expect.poll(() => this.#release.has(code)).toBe(true);
    this.#release.get(code)?.();
  }
}

/** A server whose programs run until their gate opens. Each does `then` after that. */
function gated(options: Parameters<typeof serve>[1], then: (request: ProgramRequest) => void = () => {}) {
  const gates = new Gates();
  const served = serve(async ({ code }, request) => {
    await gates.pass(code);
    then(request);
    return executed({ data: code });
  }, options);
  return { gates, served };
}

describe.each(ERAS)("programs beyond those that may run, of a client of %s", (era) => {
  it("wait for their turn in the order in which they came, and are told so", async () => {
    const { gates, served } = gated({ maxPrograms: 1 }, ({ onCallStarted }) =>
      onCallStarted?.({ seq: 1, tool: "mcp__a__b" }),
    );
    const client = await CONNECT[era](served);
    const seen: { progress: number; message?: string | undefined }[] = [];
    const first = client.callTool(executing("first"));
    await expect.poll(() => gates.started).toEqual(["first"]);
    const second = client.callTool(executing("second"));
    const third = client.callTool(
      executing("third"),
      ...progressOptions(era, (progress) => seen.push(progress)),
    );
    await expect.poll(() => seen.length).toBe(1);
    await gates.open("first");
    expect((await first).content).toMatchObject(valued("first"));
    await gates.open("second");
    await gates.open("third");
    expect(await second).not.toHaveProperty("isError");
    expect(await third).not.toHaveProperty("isError");
    expect(gates.started).toEqual(["first", "second", "third"]);
    expect(seen.map(({ message }) => message)).toEqual([
      "waits for its turn, 1 program before it",
      "waits for its turn, 0 programs before it",
      "call 1: mcp__a__b",
    ]);
    const progress = seen.map((report) => report.progress);
    expect(progress).toEqual([...new Set(progress)].sort((a, b) => a - b));
  });

  it("are Busy when too many wait already, or when their time is up", async () => {
    const { gates, served } = gated({ maxPrograms: 1, maxQueued: 1 });
    const client = await CONNECT[era](served);
    const first = client.callTool(executing("first"));
    await expect.poll(() => gates.started).toEqual(["first"]);
    const late = client.callTool({
      name: "execute_program",
      arguments: { code: "late", timeout_seconds: 1 },
    });
    const refused = await client.callTool(executing("refused"));
    const busy = (why: RegExp) => ({ isError: true, content: [{ text: expect.stringMatching(why) }] });
    expect(refused).toMatchObject(
      busy(/\nBusy: the most programs that may run \(1\) and wait \(1\) do so already; wait for one/),
    );
    expect(await late).toMatchObject(
      busy(/\nBusy: the most programs that may run \(1\) do so already, and its turn did not come in 1 s/),
    );
    await gates.open("first");
    await first;
    expect(gates.started).toEqual(["first"]);
  });

  it("leave the queue when their request is cancelled", async () => {
    const { gates, served } = gated({ maxPrograms: 1 });
    const client = await CONNECT[era](served);
    const first = client.callTool(executing("first"));
    await expect.poll(() => gates.started).toEqual(["first"]);
    const cancel = new AbortController();
    const seen: string[] = [];
    const gone = client
      .callTool(executing("gone"), ...signalOptions(era, cancel.signal))
      .catch(() => "cancelled");
    const last = client.callTool(
      executing("last"),
      ...progressOptions(era, ({ message }) => seen.push(String(message))),
    );
    await expect.poll(() => seen).toEqual(["waits for its turn, 1 program before it"]);
    cancel.abort();
    await gone;
    await expect.poll(() => seen.at(-1)).toBe("waits for its turn, 0 programs before it");
    await gates.open("first");
    await gates.open("last");
    await Promise.all([first, last]);
    expect(gates.started).toEqual(["first", "last"]);
  });

  it("take the places of those that wait for a person", async () => {
    const gates = new Gates();
    const served = serve(
      async ({ code }, { approver, signal }) => {
        if (code === "asks") await approver.ask(REQUEST, signal);
        else await gates.pass(code);
        return executed({ data: code });
      },
      { maxPrograms: 1 },
    );
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    const client = await CONNECT[era](served, async () => {
      await answered;
      return { action: "accept", content: { decision: "once" } };
    });
    const asking = client.callTool(executing("asks"));
    const other = client.callTool(executing("other"));
    await gates.open("other");
    expect((await other).content).toMatchObject(valued("other"));
    answer();
    expect((await asking).content).toMatchObject(valued("asks"));
  });
});

it("programs of several connections share the places of their process, and end with their own connection", async () => {
  const gates = new Gates();
  const killed: string[] = [];
  const first = serve(
    async ({ code }, { signal }) => {
      signal.addEventListener("abort", () => killed.push(code));
      await gates.pass(code);
      return executed({ data: code });
    },
    { maxPrograms: 1, maxQueued: 1 },
  );
  const second = connectTo(first.service, { ...CONTEXT, session: "second" });
  const [here, there] = [await connectLegacy(first), await connectLegacy(second)];
  const running = here.callTool(executing("running"));
  await expect.poll(() => gates.started).toEqual(["running"]);
  const waiting = there.callTool(executing("waiting"));
  await expect
    .poll(async () => (await here.callTool(executing("refused"))).content)
    .toMatchObject([
      { text: expect.stringContaining("the most programs that may run (1) and wait (1) do so already") },
    ]);
  await gates.open("running");
  expect(await running).not.toHaveProperty("isError");
  await expect.poll(() => gates.started).toEqual(["running", "waiting"]);
  await here.close();
  await first.ended;
  expect(killed).toEqual([]);
  await gates.open("waiting");
  expect(await waiting).not.toHaveProperty("isError");
});

it("a ticket is of use to the principal alone whose program waits", async () => {
  const served = serve(async (_, { approver, signal }) =>
    executed({ data: (await approver.ask(REQUEST, signal)).decision }),
  );
  const [owner, other] = [
    new RawClient(served),
    new RawClient(connectTo(served.service, { ...CONTEXT, principal: "other" })),
  ];
  const answer = { ...executing("asks"), ...answering(await owner.callModern(1, executing("asks"))) };
  expect((await other.callModern(1, answer)).result).toMatchObject({ isError: true });
  expect((await owner.callModern(2, answer)).result?.content).toMatchObject(valued("once"));
});

it("a question that waits for one client is there still when another client disconnects", async () => {
  const served = serve(async (_, { approver, signal }) =>
    executed({ data: (await approver.ask(REQUEST, signal)).decision }),
  );
  const other = connectTo(served.service);
  const owner = new RawClient(served);
  const asked = await owner.callModern(1, executing("asks"));
  other.toServer.end();
  await other.ended;
  const reply = await owner.callModern(2, { ...executing("asks"), ...answering(asked) });
  expect(reply.result?.content).toMatchObject(valued("once"));
});

it("a program that waits for its turn is refused as soon as its connection closes", async () => {
  const { gates, served } = gated({ maxPrograms: 1 });
  const { service } = served;
  const [first, second] = [service.connect(CONTEXT), service.connect(CONTEXT)];
  const start = (code: string, connection: typeof first) => {
    const { signal } = new AbortController();
    const request = { connection, signal, progress: undefined, canAsk: false };
    return connection.callTool("execute_program", { code }, request);
  };
  const running = start("running", first);
  const waiting = start("waiting", second);
  await second.close();
  expect(await waiting).toMatchObject({
    reply: { isError: true, content: [{ text: expect.stringContaining("Cancelled") }] },
  });
  await gates.open("running");
  await running;
  expect(gates.started).toEqual(["running"]);
});

it("of programs that wait for a person, no more lend their places than there are", async () => {
  const places = new ProgramPlaces(() => ({ maxRunning: 1, maxQueued: 9 }));
  const { signal } = new AbortController();
  const take = () => places.take({ principal: "ada", patienceMs: 10, signal, onPosition: () => {} });
  for (const _ of ["first", "second"]) {
    const placed = await take();
    if (placed.kind !== "placed") throw new Error(placed.kind);
    placed.place.pause();
  }
  expect(await take()).toEqual({ kind: "none", why: "late" });
});
