import { createSocket, type Socket as DatagramSocket } from "node:dgram";
import { connect as connectStream, isIPv6, type Socket } from "node:net";
import { hostname } from "node:os";
import { isUnwanted, parseAuditLine } from "../audit-line.ts";
import type { Carrier } from "./queued-sink.ts";

/** Facility 13 is that of audit logs (RFC 5424, section 6.2.1). */
const FACILITY = 13;
const NOTICE = 5;
const INFORMATIONAL = 6;
const CONNECT_MS = 10_000;
const BATCH = 100;

/** Renders a line as a message of RFC 5424, section 6. Its MSGID is the line's event, and its MSG is the line. */
function renderSyslog(line: string, host: string, pid: number): string {
  const fields = parseAuditLine(line);
  const severity = fields !== undefined && isUnwanted(fields) ? NOTICE : INFORMATIONAL;
  const time = fields?.time ?? "-";
  return `<${FACILITY * 8 + severity}>1 ${time} ${host} ptc ${pid} ${fields?.event ?? "-"} - ${line.trimEnd()}`;
}

/**
 * Sends lines to a syslog receiver: `udp://HOST:PORT` (RFC 5426), or with counted octets over `tcp://HOST:PORT` or a stream
 * socket `unix:///PATH` (RFC 6587, section 3.4.1). UDP does not show whether anybody receives them. The package
 * `syslog-client` neither counts octets nor writes to a stream socket.
 */
export function openSyslog(address: string): Carrier {
  const host =
    hostname()
      .replace(/[^!-~]/g, "?")
      .slice(0, 255) || "-";
  const render = (line: string) => Buffer.from(renderSyslog(line, host, process.pid));
  if (address.startsWith("udp:")) return openDatagrams(address, render);
  return openStream(address, render);
}

function openDatagrams(address: string, render: (line: string) => Buffer): Carrier {
  const { host, port } = hostOf(address);
  let socket: DatagramSocket | undefined;
  return {
    place: address,
    batch: BATCH,
    async deliver(lines) {
      socket ??= createSocket(isIPv6(host) ? "udp6" : "udp4").on("error", () => {});
      socket.unref();
      for (const line of lines) {
        await new Promise<void>((resolve, reject) => {
          socket?.send(render(line), port, host, (error) => (error ? reject(error) : resolve()));
        });
      }
    },
    end: () => socket?.close(),
  };
}

function openStream(address: string, render: (line: string) => Buffer): Carrier {
  let connected: Promise<Socket> | undefined;
  return {
    place: address,
    batch: BATCH,
    async deliver(lines) {
      connected ??= connect(address, () => {
        connected = undefined;
      });
      const socket = await connected;
      const frames = lines.flatMap((line) => {
        const message = render(line);
        return [Buffer.from(`${message.length} `), message];
      });
      await new Promise<void>((resolve, reject) => {
        socket.write(Buffer.concat(frames), (error) => (error ? reject(error) : resolve()));
      });
    },
    end() {
      void connected?.then(
        (socket) => socket.end(),
        () => {},
      );
    },
  };
}

async function connect(address: string, onLost: () => void): Promise<Socket> {
  const place = address.startsWith("unix:")
    ? { path: decodeURI(address.slice("unix://".length)) }
    : hostOf(address);
  const socket = connectStream(place);
  socket.unref();
  socket.on("error", () => {});
  socket.once("close", onLost);
  // Discards whatever the receiver sends, so that the socket notices when the receiver closes.
  socket.resume();
  await new Promise<void>((resolve, reject) => {
    socket.setTimeout(CONNECT_MS, () =>
      socket.destroy(new Error(`no connection within ${CONNECT_MS / 1_000} s`)),
    );
    socket.once("error", reject);
    socket.once("connect", resolve);
  });
  socket.setTimeout(0);
  return socket;
}

function hostOf(address: string): { host: string; port: number } {
  const { hostname: host, port } = new URL(address);
  return { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
}
