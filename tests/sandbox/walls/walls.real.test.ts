import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { describeOnEngines } from "../in-sandbox.ts";
import { useRealSandboxes } from "../real-sandboxes.ts";

const REPOSITORY = join(import.meta.dirname, "../../..");

/** Each attempt to reach something becomes `ok` or the code of the error. */
const ATTEMPT = `
  const attempt = async (work) => {
    try { await work(); return "ok"; } catch (error) { return error.code ?? error.cause?.code ?? String(error); }
  };
`;

describeOnEngines("what a program can reach", (open) => {
  const run = useRealSandboxes({}, { open });

  test("no host, port or name on any network, nor the host's loopback and abstract sockets", async () => {
    let reached = 0;
    const tcp = createServer(() => reached++);
    const abstract = createServer(() => reached++);
    const name = `\0ptc-walls-${process.pid}`;
    await new Promise<void>((resolve) => tcp.listen(0, "127.0.0.1", resolve));
    await new Promise<void>((resolve) => abstract.listen(name, resolve));
    const address = tcp.address();
    const port = typeof address === "object" ? address?.port : undefined;
    expect(port).toBeGreaterThan(0);
    try {
      const { result } = await run(
        `import net from "node:net";
         import dgram from "node:dgram";
         import dns from "node:dns/promises";
         import { networkInterfaces } from "node:os";
         ${ATTEMPT}
         const connect = (options) => attempt(() => new Promise((resolve, reject) => {
           const socket = net.connect(options, resolve);
           socket.setTimeout(5000, () => reject(new Error("no answer")));
           socket.on("error", reject);
         }));
         const send = (port, host) => attempt(() => new Promise((resolve, reject) => {
           const socket = dgram.createSocket("udp4");
           socket.on("error", reject);
           socket.send("x", port, host, (error) => { socket.close(); error ? reject(error) : resolve(); });
         }));
         const outside = [
           await connect({ host: "1.1.1.1", port: 80 }),
           await connect({ host: "2606:4700:4700::1111", port: 80 }),
           await connect({ host: "169.254.169.254", port: 80 }),
           await connect({ host: "172.17.0.1", port: 22 }),
           await connect({ host: "127.0.0.1", port: data.port }),
           await connect({ host: "::1", port: data.port }),
           await connect({ path: data.name }),
           await send(53, "1.1.1.1"),
           await attempt(() => dns.lookup("example.com")),
           await attempt(() => dns.resolve4("example.com")),
           await attempt(() => fetch("http://example.com/")),
         ];
         const interfaces = Object.values(networkInterfaces()).flat();
         globalThis.result = { outside, external: interfaces.filter(({ internal }) => !internal) };`,
        { data: { port, name } },
      );
      expect(result).toMatchObject({ ok: true, data: { external: [] } });
      const { outside } = (result as { data: { outside: string[] } }).data;
      expect(outside).toHaveLength(11);
      expect(outside).not.toContain("ok");
      expect(reached).toBe(0);
    } finally {
      tcp.close();
      abstract.close();
    }
  });

  test("no file of the host, no Docker socket, and in its socket's folder, where it has one, the socket alone", async () => {
    expect(existsSync(join(REPOSITORY, "package.json"))).toBe(true);
    const { result } = await run(
      `import { existsSync, readdirSync, readFileSync, writeFileSync, unlinkSync } from "node:fs";
       ${ATTEMPT}
       const list = (path) => { try { return readdirSync(path); } catch (error) { return error.code; } };
       globalThis.result = {
         seen: [...data.paths, "/var/run/docker.sock", "/run/docker.sock", "/run/containerd"].filter((path) => existsSync(path)),
         root: list("/root"),
         home: list("/home"),
         socketFolder: list("/run/ptc"),
         addToSocketFolder: await attempt(() => writeFileSync("/run/ptc/file", "x")),
         removeSocket: await attempt(() => unlinkSync("/run/ptc/broker.sock")),
         nameServers: readFileSync("/etc/resolv.conf", "utf8"),
         writeNameServers: await attempt(() => writeFileSync("/etc/resolv.conf", "nameserver 1.1.1.1")),
         processes: readdirSync("/proc").filter((name) => /^\\d+$/.test(name)).length,
       };`,
      { data: { paths: [REPOSITORY, import.meta.filename, process.execPath, `/proc/${process.pid}`] } },
    );
    const { data } = result as { data: Record<string, unknown> };
    expect(data.seen).toEqual([]);
    expect(data.root === "EACCES" || (Array.isArray(data.root) && data.root.length <= 2)).toBe(true);
    expect(["ENOENT", []]).toContainEqual(data.home);
    // The folder is not there where the channel goes over the attached stdin and stdout.
    expect([["broker.sock"], [], "ENOENT"]).toContainEqual(data.socketFolder);
    expect(data.addToSocketFolder).toMatch(/^E/);
    expect(data.removeSocket).toMatch(/^E/);
    expect(data.nameServers).not.toMatch(/nameserver/);
    expect(data.writeNameServers).toMatch(/^E/);
    expect(data.processes).toBe(1);
  });

  test("no variable of the host's environment", async () => {
    process.env.PTC_WALLS_SECRET = "s3cret-of-the-host";
    try {
      const { result } = await run(
        `import { readFileSync } from "node:fs";
         import { hostname } from "node:os";
         globalThis.result = {
           names: Object.keys(process.env).sort(),
           text: JSON.stringify(process.env) + readFileSync("/proc/self/environ", "utf8") + readFileSync("/proc/self/cmdline", "utf8"),
           hostname: hostname(),
         };`,
      );
      const { data } = result as { data: { names: string[]; text: string; hostname: string } };
      const given = [
        "HOME",
        "HOSTNAME",
        "LANG",
        "LC_ALL",
        "NODE_ENV",
        "NODE_VERSION",
        "PATH",
        "TZ",
        "YARN_VERSION",
      ];
      expect(data.names.filter((name) => !given.includes(name))).toEqual([]);
      expect(data.text).not.toContain("s3cret-of-the-host");
      expect(data.hostname).not.toBe(hostname());
    } finally {
      delete process.env.PTC_WALLS_SECRET;
    }
  });
});

describeOnEngines("what a program can tell of where it runs", (open) => {
  const run = useRealSandboxes({}, { open });

  test("is the same every time: name, time zone, language", async () => {
    const look = `import { hostname } from "node:os";
      const { locale, timeZone } = Intl.DateTimeFormat().resolvedOptions();
      globalThis.result = { hostname: hostname(), locale, timeZone, offset: new Date(0).getTimezoneOffset(), env: process.env };`;
    const [first, second] = [(await run(look)).result, (await run(look)).result];
    const here = { hostname: "sandbox", locale: "en-US", timeZone: "UTC", offset: 0 };
    expect(first).toMatchObject({ ok: true, data: here });
    expect((second as { data: unknown }).data).toEqual((first as { data: unknown }).data);
  });
});

describeOnEngines("what a program may do to its own sandbox", (open) => {
  const run = useRealSandboxes({}, { open });
  let facts: Record<string, unknown>;

  beforeAll(async () => {
    const { result } = await run(
      `import { mkdirSync, openSync, readFileSync, writeFileSync, writeSync, closeSync, unlinkSync, chownSync } from "node:fs";
       ${ATTEMPT}
       const fill = (folder) => {
         const chunk = Buffer.alloc(1024 * 1024, 1);
         const file = folder + "/fill";
         const fd = openSync(file, "w");
         let megabytes = 0;
         try {
           for (; megabytes < 256; megabytes++) writeSync(fd, chunk);
           return { megabytes, code: "unbounded" };
         } catch (error) {
           return { megabytes, code: error.code };
         } finally {
           closeSync(fd);
           unlinkSync(file);
         }
       };
       const status = readFileSync("/proc/self/status", "utf8");
       const field = (name) => new RegExp("^" + name + ":\\\\s*(.*)$", "m").exec(status)?.[1];
       const write = (path) => attempt(() => writeFileSync(path, "x"));
       globalThis.result = {
         cwd: process.cwd(),
         ids: [process.getuid(), process.getgid(), process.geteuid(), process.getgroups()].flat(),
         capabilities: [field("CapEff"), field("CapPrm"), field("CapBnd"), field("CapInh")],
         become: await attempt(() => process.setuid(0)),
         chown: await attempt(() => { writeFileSync("/tmp/mine", ""); chownSync("/tmp/mine", 0, 0); }),
         readOnly: {
           root: await write("/file"), etc: await write("/etc/passwd"), opt: await write("/opt/ptc/runner.mjs"),
           usr: await write("/usr/file"), node: await write("/usr/local/bin/node"), run: await write("/run/file"),
           var: await attempt(() => mkdirSync("/var/folder")), kernel: await write("/proc/sys/kernel/hostname"),
         },
         filled: { workspace: fill("/workspace"), tmp: fill("/tmp"), shm: fill("/dev/shm") },
       };`,
    );
    expect(result).toMatchObject({ ok: true });
    facts = (result as { data: Record<string, unknown> }).data;
  });

  test("it cannot load native code into its process, nor open a debugger by a signal", async () => {
    const { result } = await run(
      `import crypto, { setEngine } from "node:crypto";
       import { url } from "node:inspector";
       ${ATTEMPT}
       process.on("SIGUSR1", () => {});
       process.kill(process.pid, "SIGUSR1");
       await new Promise((resolve) => setTimeout(resolve, 100));
       globalThis.result = {
         addon: await attempt(() => process.dlopen({ exports: {} }, "/lib/x86_64-linux-gnu/libc.so.6")),
         engine: await attempt(() => setEngine("/lib/x86_64-linux-gnu/libz.so.1")),
         sameEngine: setEngine === crypto.setEngine,
         debugger: url() ?? "none",
       };`,
    );
    expect(result).toMatchObject({
      ok: true,
      data: {
        ...{ addon: "ERR_DLOPEN_DISABLED", debugger: "none", sameEngine: true },
        engine: "Error: engines of OpenSSL are native code, which is not loaded here",
      },
    });
  });

  test("it works in /workspace", () => {
    expect(facts.cwd).toBe("/workspace");
  });

  test("it is nobody, without capabilities, and stays so", () => {
    expect(new Set(facts.ids as number[])).toEqual(new Set([65534]));
    for (const set of facts.capabilities as string[]) expect(set).toMatch(/^0+$/);
    // Nobody else is known where it runs.
    expect(facts.become).toMatch(/^E(PERM|INVAL)$/);
    expect(facts.chown).toMatch(/^E(PERM|INVAL)$/);
  });

  test("it cannot write anywhere in the image", () => {
    for (const [place, outcome] of Object.entries(facts.readOnly as Record<string, string>)) {
      expect(`${place}: ${outcome}`).toMatch(/: E(ROFS|ACCES|PERM|NOENT|XIST)$/);
    }
  });

  test("it can write to /workspace, /tmp and /dev/shm until they are full", () => {
    const filled = facts.filled as Record<string, { megabytes: number; code: string }>;
    for (const { megabytes, code } of Object.values(filled)) {
      expect(code).toBe("ENOSPC");
      expect(megabytes).toBeGreaterThan(4);
    }
  });
});
