import { PassThrough, Writable } from "node:stream";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { StdioServerTransport } from "../../../server/mcp/stdio-server-transport.ts";
import { type Message, RawClient } from "./clients.ts";
import { CANCELLED, executed, serve } from "./served.ts";

const LIST = '{"jsonrpc":"2.0","id":7,"method":"tools/list"}';
const MAX_BYTES = 1_000;
const TOO_LARGE = { code: -32600, message: "message larger than 1000 bytes" };

function nested(depth: number): string {
  return `${"[".repeat(depth)}${"]".repeat(depth)}`;
}

/** A transport whose messages are objects with a method, or with an error; others count as garbage. */
async function open(stdout: Writable = new PassThrough()) {
  const stdin = new PassThrough();
  const warnings: string[] = [];
  const received: unknown[] = [];
  const transport = new StdioServerTransport({
    stdin,
    stdout,
    maxMessageBytes: MAX_BYTES,
    isMessage: (value) =>
      typeof value === "object" && value !== null && ("method" in value || "error" in value),
    onInputEnd: () => {},
  });
  transport.onmessage = (message) => received.push(message);
  transport.onerror = ({ message }) => warnings.push(message);
  await transport.start();
  const sent = (): Message[] => {
    const text = String((stdout as PassThrough).read() ?? "");
    return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Message]));
  };
  return { stdin, transport, warnings, received, sent };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("a server on stdio", () => {
  it.each([
    ["no JSON", "garbage", -32700, null],
    ["broken JSON", '{"jsonrpc":"2.0","id":1,"method":', -32700, null],
    ["no UTF-8", Buffer.from([0xff, 0xfe, 0x80]), -32700, null],
    ["a null byte", "\u0000", -32700, null],
    ["a number", "5", -32600, null],
    ["a list", `[${LIST}]`, -32600, null],
    ["no method", '{"jsonrpc":"2.0","id":9}', -32600, 9],
    ["another version", '{"jsonrpc":"1.0","id":"x","method":"tools/list"}', -32600, "x"],
    ["an id that is none", '{"jsonrpc":"2.0","id":{"a":1},"method":"tools/list"}', -32600, null],
    ["params that are none", '{"jsonrpc":"2.0","id":9,"method":"tools/list","params":5}', -32600, 9],
  ])("answers a line that is %s with an error, warns in one line, and goes on", async (_, line, code, id) => {
    const served = serve(async () => executed({ data: 1 }));
    const client = new RawClient(served);
    await client.initialize();
    client.write(line);
    client.write("\n");
    expect(await client.request(7, "tools/list")).toMatchObject({ result: { tools: expect.anything() } });
    expect(client.messages.filter(({ error }) => error !== undefined)).toMatchObject([
      { id, error: { code } },
    ]);
    expect(served.warnings).toHaveLength(1);
    expect(served.warnings[0]).toMatch(/^line 3 from the client was refused: message is .{1,60}$/);
  });

  it("skips a message of 65 MB, and goes on", async () => {
    const served = serve(async () => executed({ data: 1 }));
    const client = new RawClient(served);
    await client.initialize();
    const query = Buffer.alloc(65 * 1024 * 1024, "x");
    client.write('{"method":"tools/call","params":{"name":"search_tools","arguments":{"query":"');
    client.write(query);
    client.write('"}},"jsonrpc":"2.0","id":5}\n');
    expect(await client.answerTo(5)).toMatchObject({
      error: { code: -32600, message: "message larger than 67108864 bytes" },
    });
    expect(await client.request(6, "tools/list")).toMatchObject({ result: { tools: expect.anything() } });
  });

  it.each([200, 100_000])("refuses data that nests %i levels deep", async (depth) => {
    let ran = false;
    const served = serve(async () => {
      ran = true;
      return executed({ data: 1 });
    });
    const client = new RawClient(served);
    await client.initialize();
    const params = `{"name":"execute_program","arguments":{"code":"1","data":{"a":${nested(depth)}}}}`;
    client.write(`{"jsonrpc":"2.0","method":"tools/call","params":${params},"id":5}\n`);
    expect(await client.answerTo(5)).toMatchObject({
      error: { code: -32600, message: "message nests deeper than 131 levels" },
    });
    expect(ran).toBe(false);
  });

  it.each([
    ['{"a":1e400}', "message holds a number beyond all that JSON's readers agree on"],
    ['{"a":1,"a":2}', 'message has the key "a" twice in one object'],
  ])("refuses data that cannot be written again: %s", async (data, message) => {
    const served = serve(async () => executed({ data: 1 }));
    const client = new RawClient(served);
    await client.initialize();
    const params = `{"name":"execute_program","arguments":{"code":"1","data":${data}}}`;
    client.write(`{"jsonrpc":"2.0","method":"tools/call","params":${params},"id":5}\n`);
    expect(await client.answerTo(5)).toMatchObject({ error: { code: -32600, message } });
    expect(await client.request(6, "tools/list")).toMatchObject({ result: { tools: expect.anything() } });
  });

  it("tells of a flood of garbage in few lines, and none of it is long", async () => {
    const served = serve(async () => executed({ data: 1 }));
    const client = new RawClient(served);
    const version = "9\n".repeat(5_000);
    await client.callModern(1, {}, { "io.modelcontextprotocol/protocolVersion": version });
    expect(served.warnings).toHaveLength(1);
    await client.initialize();
    client.write("garbage\n".repeat(5_000));
    await client.request(7, "tools/list");
    expect(served.warnings.length).toBeGreaterThan(10);
    expect(served.warnings.length).toBeLessThan(40);
    for (const warning of served.warnings) expect(warning).toMatch(/^.{1,400}$/);
  });

  it("takes a byte order mark, carriage returns and blank lines", async () => {
    const served = serve(async () => executed({ data: 1 }));
    const client = new RawClient(served);
    client.write("\u{feff}\r\n\r\n  \n\u{feff}");
    await client.initialize();
    client.write(`${LIST}\r\n`);
    expect(await client.answerTo(7)).toHaveProperty("result");
    expect(served.warnings).toEqual([]);
  });

  it("answers what was asked last, also without a line feed, and then ends", async () => {
    const served = serve(async () => executed({ data: 1 }));
    const client = new RawClient(served);
    await client.initialize();
    client.end(LIST);
    await served.ended;
    expect(await client.answerTo(7)).toHaveProperty("result");
  });

  it("calls programs off when the client sends no more, and says so", async () => {
    const served = serve(async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return CANCELLED;
    });
    const client = new RawClient(served);
    await client.initialize();
    const params = { name: "execute_program", arguments: { code: "1" } };
    client.send({ id: 1, method: "tools/call", params });
    client.send({ id: 2, method: "tools/call", params });
    client.end();
    await served.ended;
    for (const id of [1, 2]) expect(await client.answerTo(id)).toMatchObject({ result: { isError: true } });
  });

  it("ends, with its programs, when the client no longer reads", async () => {
    let killed = false;
    const served = serve(async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      killed = true;
      return executed({ data: 1 });
    });
    const client = new RawClient(served);
    await client.initialize();
    client.send({
      id: 1,
      method: "tools/call",
      params: { name: "execute_program", arguments: { code: "1" } },
    });
    await settle();
    served.toClient.destroy(new Error("write EPIPE"));
    await served.ended;
    expect(killed).toBe(true);
  });
});

describe("a line that is too large", () => {
  it.each([1, 7, 100_000])(
    "is known by its id, from chunks of %i bytes, wherever the id is",
    async (size) => {
      const { stdin, received, warnings, sent } = await open();
      const large = `"x\\"}${"\\\\".repeat(1_000)}`;
      const lines = [
        `{"id":"first","params":{"id":1,"deep":[${large}"]}}`,
        `{"params":{"id":1,"deep":[${large}"]},"id":2}`,
        `{"params":{"id":1},"method":${large}","id":3}`,
        "[".repeat(2_000),
        '{"id":4,"method":"fits"}',
        `{"text":${large}`,
      ];
      const bytes = Buffer.from(lines.join("\n"));
      for (let at = 0; at < bytes.length; at += size) stdin.write(bytes.subarray(at, at + size));
      stdin.end();
      await expect.poll(() => warnings.length).toBe(5);
      expect(received).toEqual([{ id: 4, method: "fits" }]);
      const ids = ["first", 2, 3, null, null];
      expect(sent()).toEqual(ids.map((id) => ({ jsonrpc: "2.0", id, error: TOO_LARGE })));
    },
  );

  it("is, as an answer, a failure for its waiting request, and is not answered", async () => {
    const { stdin, received, sent } = await open();
    stdin.write(`{"jsonrpc":"2.0","id":3,"result":{"text":"${"x".repeat(2_000)}"}}\n`);
    await expect.poll(() => received).toEqual([{ jsonrpc: "2.0", id: 3, error: TOO_LARGE }]);
    expect(sent()).toEqual([]);
  });
});

describe("a transport", () => {
  it("stops reading while too much waits to be read, and goes on after", async () => {
    let readOn = () => {};
    const stdout = new Writable({
      highWaterMark: 1,
      write: (_chunk, _encoding, done) => {
        readOn = done;
      },
    });
    const { stdin, transport, received } = await open(stdout);
    const sending = transport.send({ id: 1, result: "x".repeat(9 * 1024 * 1024) });
    stdin.write('{"method":"a"}\n');
    await settle();
    expect(received).toEqual([]);
    readOn();
    await sending;
    await expect.poll(() => received).toEqual([{ method: "a" }]);
  });

  it.each([
    ["its input is destroyed", (stdin: PassThrough) => stdin.destroy()],
    ["its input breaks", (stdin: PassThrough) => stdin.destroy(new Error("EIO"))],
    ["its output is closed", (_: PassThrough, stdout: PassThrough) => stdout.destroy()],
    ["its output breaks", (_: PassThrough, stdout: PassThrough) => stdout.destroy(new Error("EPIPE"))],
    ["its output tells of no more than an error", (_, stdout) => stdout.emit("error", new Error("EPIPE"))],
  ] as [string, (stdin: PassThrough, stdout: PassThrough) => unknown][])(
    "closes when %s, whatever is unanswered, and drops what is sent after",
    async (_, breakOff) => {
      const stdout = new PassThrough();
      const { stdin, transport, sent } = await open(stdout);
      stdin.write(`${LIST}\n`);
      await settle();
      breakOff(stdin, stdout);
      await transport.closed;
      await transport.send({ jsonrpc: "2.0", id: 7, result: {} });
      expect(sent()).toEqual([]);
    },
  );

  it("tells of a stream that breaks once, and of none that breaks after the client has closed its end", async () => {
    const closes: string[] = [];
    const broken = async (hasEnded: boolean) => {
      const stdout = new PassThrough();
      const { stdin, transport, warnings } = await open(stdout);
      transport.onclose = () => closes.push("closed");
      stdin.write('{"id":3,"method":"tools/call"}\n');
      if (hasEnded) stdin.end();
      await settle();
      for (let times = 0; times < 2; times++) stdout.emit("error", new Error("EPIPE"));
      await transport.closed;
      return warnings;
    };
    expect(await broken(false)).toEqual(["the connection to the client broke: EPIPE"]);
    expect(await broken(true)).toEqual([]);
    expect(closes).toEqual(["closed", "closed"]);
  });

  it("closes at once at the end of its input where nothing is unanswered, else after a short time", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const closes: string[] = [];
    const ended = async (name: string, line: string) => {
      const { stdin, transport } = await open();
      transport.onclose = () => closes.push(name);
      stdin.end(line);
      await settle();
      await settle();
    };
    await ended("answered", "");
    expect([closes, vi.getTimerCount()]).toEqual([["answered"], 0]);
    await ended("unanswered", '{"id":3,"method":"tools/call"}\n');
    await vi.advanceTimersByTimeAsync(249);
    expect(closes).toEqual(["answered"]);
    await vi.advanceTimersByTimeAsync(1);
    expect(closes).toEqual(["answered", "unanswered"]);
  });

  it("closes when a stream had ended before it began", async () => {
    const stdout = new PassThrough();
    stdout.destroy();
    const { transport } = await open(stdout);
    await transport.closed;
  });

  it("receives nothing more once it is closed, and leaves its input alone", async () => {
    let readOn = () => {};
    const stdout = new Writable({
      highWaterMark: 1,
      write: (_chunk, _encoding, done) => {
        readOn = done;
      },
    });
    const { stdin, transport, received } = await open(stdout);
    transport.onmessage = (message) => {
      received.push(message);
      void transport.close();
    };
    void transport.send({ id: 1, result: "x".repeat(9 * 1024 * 1024) });
    stdin.resume();
    stdin.write('{"method":"a"}\n{"method":"b"}\n');
    await transport.closed;
    readOn();
    await settle();
    expect(received).toEqual([{ method: "a" }]);
    expect([stdin.isPaused(), stdin.listenerCount("data")]).toEqual([true, 0]);
  });

  it("does not wait for answers that only come at the end, nor for what was cancelled", async () => {
    const { stdin, transport } = await open();
    stdin.write('{"id":1,"method":"subscriptions/listen"}\n{"id":2,"method":"tools/call"}\n');
    stdin.write('{"id":3,"method":"tools/call"}\n');
    stdin.end('{"method":"notifications/cancelled","params":{"requestId":2}}');
    let closed = false;
    void transport.closed.then(() => {
      closed = true;
    });
    await settle();
    await settle();
    expect(closed).toBe(false);
    await transport.send({ id: 3, result: {} });
    await settle();
    expect(closed).toBe(true);
  });
});
