import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { duplexPair } from "node:stream";
import { buffer } from "node:stream/consumers";
import * as tls from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { readServerName } from "../../../upstream/egress/client-hello.ts";
import { type AllowedHost, Egress, type EgressConnection } from "../../../upstream/egress/egress.ts";

/** A ClientHello as Node.js sends it. */
async function helloFor(servername: string | undefined): Promise<Buffer> {
  const [client, wire] = duplexPair();
  const socket = tls.connect({ socket: client as unknown as Socket, ...(servername ? { servername } : {}) });
  socket.on("error", () => {});
  const hello = await new Promise<Buffer>((resolve) => wire.once("data", resolve));
  socket.destroy();
  return hello;
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Sends bytes over the egress of a server, and says what came back and what ptc noted. */
async function sent(
  { host, port, allowed }: { host: string; port: number; allowed?: Partial<AllowedHost> },
  bytes: string | Buffer,
  lookup?: () => Promise<{ address: string; family: number }[]>,
) {
  const [inside, stream] = duplexPair();
  const refused: string[] = [];
  const connection = Promise.withResolvers<EgressConnection>();
  const egress = new Egress({
    allowed: [{ host: "localhost", ports: [port], isPrivate: false, ...allowed }],
    onConnection: connection.resolve,
    onRefused: (wanted) => refused.push(wanted),
    lookup,
  });
  egress.connect(host, port, stream);
  inside.on("error", () => {});
  inside.write(bytes);
  const back = buffer(inside).catch(() => Buffer.alloc(0));
  setTimeout(() => inside.end(), 300);
  return { refused, connection: () => connection.promise, back: async () => (await back).toString("latin1") };
}

test("the name in a ClientHello is read, whole or in pieces, and a message without one has none", async () => {
  const hello = await helloFor("Api.Example.com");
  expect(readServerName(hello)).toEqual({ isWhole: true, name: "api.example.com" });
  for (let length = 1; length < hello.length; length++)
    expect(readServerName(hello.subarray(0, length)), String(length)).toEqual({
      isWhole: false,
      name: undefined,
    });
  expect(readServerName(await helloFor(undefined))).toEqual({ isWhole: true, name: undefined });
  // The same message in records of one byte.
  const body = hello.subarray(5);
  const split = Buffer.concat([...body].map((byte) => Buffer.from([22, 3, 1, 0, 1, byte])));
  expect(readServerName(split)).toEqual({ isWhole: true, name: "api.example.com" });
});

test("what is no ClientHello, or leads out of itself, is none", async () => {
  const hello = await helloFor("api.example.com");
  for (let at = 0; at < hello.length; at++) {
    const changed = Buffer.from(hello);
    changed[at] = 255;
    const name = readServerName(changed)?.name;
    expect(name === undefined || name === "api.example.com" || name.includes("ÿ"), String(at)).toBe(true);
  }
  expect(readServerName(Buffer.from("GET / HTTP/1.1\r\n"))).toBeUndefined();
});

test("a connection of another protocol is carried both ways, also where the other end speaks first", async () => {
  const port = await listen(
    createServer((socket) => {
      socket.write("ready\n");
      socket.on("data", (chunk) => socket.end(`got ${chunk}`));
      socket.on("error", () => {});
    }),
  );
  const { back, connection, refused } = await sent({ host: "localhost", port }, "hello\n");
  expect(await back()).toBe("ready\ngot hello\n");
  expect(await connection()).toMatchObject({
    ...{ host: "localhost", port, problem: undefined, sentBytes: 6, receivedBytes: 16 },
  });
  expect(refused).toEqual([]);
});

test("TLS passes untouched to the host that its ClientHello names, and not with another name", async () => {
  const received: Buffer[] = [];
  const port = await listen(
    createServer((socket) => {
      socket.on("data", (chunk: Buffer) => received.push(chunk));
      socket.on("error", () => {});
    }),
  );
  const own = await helloFor("localhost");
  await (await sent({ host: "localhost", port }, own)).connection();
  expect(Buffer.concat(received)).toEqual(own);
  received.length = 0;
  const other = await sent({ host: "localhost", port }, await helloFor("evil.example"));
  expect((await other.connection()).problem).toBe("was used for another name in TLS: evil.example");
  const none = await sent({ host: "localhost", port }, await helloFor(undefined));
  expect((await none.connection()).problem).toBe("was used for another name in TLS: none");
  expect(received).toEqual([]);
});

test("each HTTP request names its own host, also one behind another, and none goes to a proxy", async () => {
  const asked: string[] = [];
  const port = await listen(
    createHttpServer((request, response) => {
      asked.push(request.url ?? "");
      response.end("fine");
    }),
  );
  const at = { host: "localhost", port };
  const host = `Host: localhost:${port}\r\n`;
  const good = await sent(at, `GET /one HTTP/1.1\r\n${host}\r\nGET /two HTTP/1.1\r\n${host}\r\n`);
  expect((await good.back()).match(/fine/g)).toHaveLength(2);
  const cases = [
    "GET /behind HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    `GET http://evil.example/behind HTTP/1.1\r\n${host}\r\n`,
    `GET /behind HTTP/1.1\r\n${host}Host: evil.example\r\n\r\n`,
    "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
  ];
  for (const each of cases) {
    const { connection } = await sent(at, each);
    expect((await connection()).problem, each).toBeDefined();
    const second = await sent(at, `GET /first HTTP/1.1\r\n${host}\r\n${each}`);
    expect((await second.connection()).problem, each).toBeDefined();
  }
  expect(asked.filter((path) => path !== "/first")).toEqual(["/one", "/two"]);
});

test("a host or port that the entry does not have is refused, and told once", async () => {
  const refused: string[] = [];
  const egress = new Egress({
    allowed: [{ host: "*.example.com", ports: [443], isPrivate: false }],
    onConnection: () => expect.unreachable(),
    onRefused: (wanted) => refused.push(wanted),
  });
  for (const [host, port] of [
    ["evil.example", 443],
    ["evil.example", 443],
    ["example.com", 443],
    ["a.example.com", 22],
    ["evilexample.com", 443],
  ] as const) {
    const [inside, stream] = duplexPair();
    egress.connect(host, port, stream);
    inside.resume();
    expect(stream.destroyed).toBe(true);
  }
  expect(refused).toEqual(["evil.example:443", "example.com:443", "a.example.com:22", "evilexample.com:443"]);
});

test.each([
  ["loopback", "127.0.0.1", { isPrivate: true }, /leads to 127\.0\.0\.1, which is not public/],
  ["the cloud's metadata", "169.254.169.254", { isPrivate: true }, /leads to 169\.254\.169\.254/],
  ["a private network", "10.0.0.5", { isPrivate: false }, /leads to 10\.0\.0\.5/],
  ["a private network in IPv6", "fd00::5", { isPrivate: false }, /leads to fd00::5/],
  ["loopback as IPv4 in IPv6", "::ffff:127.0.0.1", { isPrivate: true }, /leads to ::ffff:127/],
])("a name that leads to %s is refused", async (_case, address, rule, problem) => {
  const at = { host: "api.example.com", port: 443, allowed: { host: "api.example.com", ...rule } };
  const { connection } = await sent(at, await helloFor("api.example.com"), async () => [
    { address, family: 4 },
  ]);
  expect((await connection()).problem).toMatch(problem);
});

test("port 443 carries TLS alone, and port 80 HTTP alone", async () => {
  const lookup = async () => [{ address: "10.0.0.1", family: 4 }];
  for (const [port, bytes, problem] of [
    [443, "SSH-2.0-x\r\n", "is reached with TLS alone on port 443"],
    [80, "SSH-2.0-x\r\n", "is reached with HTTP alone on port 80"],
  ] as const) {
    const { connection } = await sent({ host: "localhost", port }, bytes, lookup);
    expect((await connection()).problem).toBe(problem);
  }
});

test("an upgraded HTTP connection is carried on as it is", async () => {
  const server = createHttpServer();
  server.on("upgrade", (_request, socket: Socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n");
    socket.on("data", (chunk) => socket.end(chunk));
    socket.on("error", () => {});
  });
  const port = await listen(server);
  const { back } = await sent(
    { host: "localhost", port },
    `GET /x HTTP/1.1\r\nHost: localhost:${port}\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\nafterwards`,
  );
  expect(await back()).toMatch(/^HTTP\/1\.1 101 [\s\S]*afterwards$/);
});
