import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type AuditLog, type AuditSink, LazySink } from "../../../archive/audit/audit-log.ts";
import { openSinks } from "../../../archive/audit/sinks/open-sinks.ts";
import { type Carrier, QueuedSink } from "../../../archive/audit/sinks/queued-sink.ts";
import { eventually } from "../../eventually.ts";
import { RUN, useAuditFolder } from "./audit-folder.ts";

const audit = useAuditFolder();

function open(to: { syslog?: string; otlp?: string }, env: Record<string, string> = {}): AuditLog {
  const onFailure = (message: string) => void audit.failures.push(message);
  return audit.open(audit.path, openSinks(to, { version: "1.2.3", env, onFailure }));
}

const end = (log: AuditLog, outcome: "ok" | "Timeout" = "ok") =>
  log.run(RUN, { outcome, calls: 0, durationMs: 1, redactions: 0 });

/** Receives a stream, as text. */
async function receive(server: Server, at: object) {
  let text = "";
  let ended = 0;
  server.on("connection", (socket) =>
    socket
      .on("data", (data) => (text += data))
      .on("end", () => ended++)
      .on("error", () => {}),
  );
  server.listen(at);
  await once(server, "listening");
  return { text: () => text, ended: () => ended, port: (server.address() as AddressInfo).port };
}

test("each line is a syslog message over UDP", async () => {
  const socket = createSocket("udp4");
  const messages: string[] = [];
  socket.on("message", (message) => messages.push(message.toString()));
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  const log = open({ syslog: `udp://127.0.0.1:${socket.address().port}` });
  end(log);
  end(log, "Timeout");
  await log.close();
  await eventually(() => expect(messages).toHaveLength(2));
  socket.close();
  expect(messages[0]).toMatch(
    new RegExp(
      `^<110>1 2026-01-02T03:04:05\\.000Z \\S+ ptc ${process.pid} run - \\{.*"outcome":"ok".*"seq":1,"prev":"none"\\}$`,
    ),
  );
  expect(messages[1]).toMatch(/^<109>1 .*"outcome":"Timeout"/);
  expect(audit.failures).toEqual([]);
});

test.for(["tcp", "unix"])("each line is a counted syslog message over a stream: %s", async (kind) => {
  const server = createServer();
  const path = join(audit.folder, "log.sock");
  const place = kind === "tcp" ? { port: 0, host: "127.0.0.1" } : { path };
  const { text, ended, port } = await receive(server, place);
  const log = open({ syslog: kind === "tcp" ? `tcp://127.0.0.1:${port}` : `unix://${path}` });
  end(log);
  end(log);
  await log.close();
  await eventually(() => expect(text().match(/<110>1 /g)).toHaveLength(2));
  await eventually(() => expect(ended()).toBe(1));
  server.close();
  const [, octets = "", message = ""] = /^(\d+) ([\s\S]*)$/.exec(text()) ?? [];
  expect(Buffer.from(message).subarray(0, Number(octets)).toString()).toMatch(/^<110>1 .*"seq":1,.*\}$/);
  expect(Buffer.from(message).subarray(Number(octets)).toString()).toMatch(/^\d+ <110>1 /);
});

test.for(["tcp", "unix"])(
  "lines go on over a new connection when the receiver closes one: %s",
  async (kind) => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => {
      sockets.push(socket.on("error", () => {}).resume());
    });
    const path = join(audit.folder, "log.sock");
    server.listen(kind === "tcp" ? { port: 0, host: "127.0.0.1" } : { path });
    await once(server, "listening");
    const port = kind === "tcp" ? (server.address() as AddressInfo).port : 0;
    const log = open({ syslog: kind === "tcp" ? `tcp://127.0.0.1:${port}` : `unix://${path}` });
    for (const count of [1, 2, 3]) {
      await eventually(() => {
        end(log);
        expect(sockets).toHaveLength(count);
      });
      sockets.at(-1)?.destroy();
    }
    await log.close();
    server.close();
  },
);

test("each line is a log record over OTLP, with the standard headers", async () => {
  const requests: { headers: object; body: string }[] = [];
  const server = createHttpServer(async (request, response) => {
    let body = "";
    for await (const chunk of request) body += chunk;
    requests.push({ headers: request.headers, body });
    // The first answer is one after which it is sent again.
    response.writeHead(requests.length === 1 ? 503 : 200).end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const otlp = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/logs`;
  const log = open({ otlp }, { OTEL_EXPORTER_OTLP_HEADERS: "x-key=a%20b, y=1" });
  end(log, "Timeout");
  await log.written(1_000);
  await eventually(() => expect(requests).toHaveLength(2));
  await log.close();
  server.close();
  expect(requests[1]?.headers).toMatchObject({ "x-key": "a b", y: "1", "content-type": "application/json" });
  const { resourceLogs } = JSON.parse(requests[1]?.body ?? "");
  const [record] = resourceLogs[0].scopeLogs[0].logRecords;
  expect(record).toMatchObject({
    timeUnixNano: "1767323045000000000",
    severityText: "WARN",
    traceId: RUN.traceId,
    eventName: "ptc.audit.run",
    body: { stringValue: expect.stringContaining('"outcome":"Timeout"') },
  });
  expect(record.attributes).toContainEqual({ key: "ptc.audit.calls", value: { intValue: "0" } });
  expect(audit.failures).toEqual([expect.stringContaining("cannot be sent to")]);
});

test("a closed queue ends its carrier once all is sent, and also when nothing could be", async () => {
  for (const fails of [false, true]) {
    const said: string[] = [];
    const carrier: Carrier = {
      place: "there",
      batch: 2,
      async deliver(lines) {
        if (fails) throw new Error("nobody is there");
        said.push(...lines);
      },
      end: () => said.push("ended"),
    };
    const queue = new QueuedSink(carrier, () => {});
    queue.send(["a", "b", "c"]);
    await queue.close();
    expect(said).toEqual(fails ? ["ended"] : ["a", "b", "c", "ended"]);
  }
});

test("a sink that is opened late is closed, and one that cannot be opened is told once", async () => {
  const said: string[] = [];
  const say = (...lines: readonly string[]) => void said.push(...lines);
  const sink: AuditSink = { send: (lines) => say(...lines), close: async () => say("closed") };
  const late = new LazySink(async () => sink, say);
  late.send(["a"]);
  await late.close();
  expect(said).toEqual(["a", "closed"]);
  const broken = new LazySink(() => Promise.reject(new Error("no")), say);
  broken.send(["a"]);
  broken.send(["b"]);
  await broken.close();
  expect(said.slice(2)).toEqual(["the audit log is not sent anywhere: no"]);
});

test("a place that is not there keeps nothing back, and is told", async () => {
  const log = open({ syslog: `unix://${join(audit.folder, "nobody.sock")}` });
  end(log);
  await log.close();
  expect(audit.failures).toEqual([
    expect.stringContaining("the audit log cannot be sent to unix://"),
    expect.stringContaining("1 lines of the audit log did not reach unix://"),
  ]);
});
