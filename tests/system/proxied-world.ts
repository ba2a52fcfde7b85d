import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener, request, type Server } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** An address elsewhere, which nothing here ever connects to: only the proxy says that it can reach it. */
export const ELSEWHERE = "93.184.216.34";

/** A server that only a proxy on this machine reaches, under `ELSEWHERE`, and whose authority only `ca` names. */
export interface ProxiedWorld {
  /** With a user and a password, for `HTTP_PROXY` and `HTTPS_PROXY`. */
  proxy: string;
  /** The proxy's password. */
  password: string;
  /** The file of the private authority that has signed the server's certificate. */
  ca: string;
  /** What the proxy was asked for, with who asked. */
  asked: { line: string; user: string }[];
  close(): void;
}

/** Opens a proxy by which a listener is reached over `http:` and `https:`, whatever the port. */
export async function openProxiedWorld(listener: RequestListener): Promise<ProxiedWorld> {
  const folder = mkdtempSync(join(tmpdir(), "ptc-proxied-"));
  makeCertificates(folder);
  const file = (name: string) => readFileSync(join(folder, name));
  const plain = createServer(listener);
  const secure = createTlsServer({ key: file("server-key.pem"), cert: file("server.pem") }, listener);
  const [plainPort, securePort] = await Promise.all([listen(plain), listen(secure)]);
  const asked: ProxiedWorld["asked"] = [];
  const password = "pr0xy-passw0rd-of-many-characters";
  const note = (line: string, header = "") => {
    const user = Buffer.from(header.replace(/^Basic /, ""), "base64").toString("utf8");
    asked.push({ line, user });
    return user === `ptc:${password}`;
  };
  const proxy = createServer((from, to) => {
    const url = from.url ?? "";
    if (!note(`${from.method} ${url}`, from.headers["proxy-authorization"]))
      return void to.writeHead(407).end();
    if (!URL.canParse(url)) return void to.writeHead(400).end();
    const { pathname, search } = new URL(url);
    const options = { port: plainPort, host: "127.0.0.1", method: from.method, headers: from.headers };
    const onward = request({ ...options, path: pathname + search }, (answer) => {
      to.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(to);
    });
    onward.on("error", () => to.destroy());
    to.on("close", () => onward.destroy());
    from.pipe(onward);
  });
  proxy.on("connect", (from, socket, head) => {
    if (!note(`CONNECT ${from.url}`, from.headers["proxy-authorization"]))
      return void socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
    const port = from.url?.endsWith(":443") ? securePort : plainPort;
    const onward = connect(port, "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    for (const each of [socket, onward])
      each.on("error", () => {
        socket.destroy();
        onward.destroy();
      });
  });
  const proxyPort = await listen(proxy);
  return {
    proxy: `http://ptc:${password}@127.0.0.1:${proxyPort}`,
    password,
    ca: join(folder, "ca.pem"),
    asked,
    close() {
      for (const server of [plain, secure, proxy]) {
        server.closeAllConnections();
        server.close();
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

/** A private authority, and a server's certificate for an address elsewhere. */
function makeCertificates(folder: string): void {
  const openssl = (...args: string[]) => {
    const { status, stderr } = spawnSync("openssl", args, { cwd: folder, encoding: "utf8" });
    if (status !== 0) throw new Error(`openssl ${args.join(" ")}: ${stderr}`);
  };
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl(
    "req",
    "-x509",
    ...key,
    "-keyout",
    "ca-key.pem",
    "-out",
    "ca.pem",
    "-subj",
    "/CN=authority",
    "-days",
    "2",
  );
  openssl("req", ...key, "-keyout", "server-key.pem", "-out", "server.csr", "-subj", "/CN=elsewhere");
  writeFileSync(join(folder, "server.ext"), `subjectAltName=IP:${ELSEWHERE}\n`);
  openssl(
    ...["x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca-key.pem", "-CAcreateserial"],
    ...["-out", "server.pem", "-days", "2", "-extfile", "server.ext"],
  );
}
