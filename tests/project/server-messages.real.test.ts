import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { formatIdentity } from "../../system/process-identity.ts";
import { eventually } from "../eventually.ts";
import { openTestedEngine } from "../sandbox/tested-engine.ts";
import { toolCall, upstreamErrorOf } from "../upstream/upstream-fixtures.ts";
import { problemOf, setUp } from "./walled-server.ts";

/** Attacks of a server on the way of its own messages, on each way that there is. */
describe.each([
  ["docker", "auto"],
  ["docker", "attached"],
  ["runsc", "auto"],
] as const)("a hostile server in a sandbox of %s, channel %s", (engine, channel) => {
  const it = test.skipIf(problemOf(engine) !== "");
  const start = (sandbox = {}) => setUp(engine, sandbox, {}, channel);

  it("has no socket but its stdin, stdout and stderr", async () => {
    const { probe } = start();
    const { value } = await probe(`
      const fs = require("fs");
      const attempt = (work) => { try { return work(); } catch (error) { return error.code; } };
      const connected = (path) => new Promise((resolve) => {
        const socket = require("net").connect(path);
        socket.on("connect", () => resolve("connected")); socket.on("error", (error) => resolve(error.code));
      });
      const folder = attempt(() => fs.readdirSync("/run/ptc"));
      const sockets = Array.isArray(folder) ? folder.map((each) => "/run/ptc/" + each) : [];
      const launcher = process.ppid;
      return {
        sockets: fs.readdirSync("/proc/self/fd").map(Number).filter((each) => each > 2 && attempt(() => fs.fstatSync(each).isSocket()) === true),
        others: await Promise.all(sockets.map(connected)),
        launchers: attempt(() => fs.readdirSync("/proc/" + launcher + "/fd").map((each) => attempt(() => fs.openSync("/proc/" + launcher + "/fd/" + each, "r+"))).filter((each) => typeof each === "number" && fs.fstatSync(each).isSocket())),
      };`);
    expect(value).toEqual({
      sockets: [],
      others: expect.not.arrayContaining(["connected"]),
      launchers: expect.toSatisfy((found) => typeof found === "string" || found.length === 0),
    });
  });

  it("speaks frames of ptc's where its messages go, which are no messages and nothing else", async () => {
    const { probe, connections } = start({ network: ["localhost:9"] });
    const opens = `const frame = (letter, stream, payload) => {
        const bytes = Buffer.from(payload); const header = Buffer.alloc(9);
        header.write(letter); header.writeUInt32BE(stream, 1); header.writeUInt32BE(bytes.length, 5);
        return Buffer.concat([header, bytes]);
      };
      const label = JSON.stringify({ kind: "connect", host: "localhost", port: 9 });
      const guard = (letter, number) => { const bytes = Buffer.alloc(5); bytes.write(letter); bytes.writeUInt32BE(number, 1); return bytes; };
      const all = [frame("o", 1, label), frame("d", 2, "x"), frame("r", 2, ""), guard("x", 0), guard("e", 0), guard("k", 0)];
      for (const bytes of all) require("fs").writeSync(1, Buffer.concat([bytes, Buffer.from("\\n")]));
      return 1;`;
    expect(await probe(opens)).toEqual({ value: 1 });
    expect(await probe("return 2")).toEqual({ value: 2 });
    expect(await connections()).toEqual([]);
  });

  it("floods the relay, and its messages still pass", async () => {
    const { probe } = start({ network: ["localhost:9"] });
    const flood = `
      const attempts = Array.from({ length: 400 }, () => new Promise((resolve) => {
        const socket = require("net").connect(9, "localhost", () => socket.write(Buffer.alloc(64 * 1024)));
        socket.on("error", () => {}); socket.on("close", resolve);
      }));
      globalThis.flooding = Promise.all(attempts);
      return 1;`;
    expect(await probe(flood)).toEqual({ value: 1 });
    expect(await probe("await globalThis.flooding; return 2")).toEqual({ value: 2 });
  });

  it.each<[string, string, "still"?]>([
    [
      "closes its stdout",
      `require("fs").closeSync(1); setInterval(() => {}, 1_000); await new Promise(() => {})`,
    ],
    [
      "closes both",
      `for (const each of [0, 1]) require("fs").closeSync(each); await new Promise(() => setInterval(() => {}, 1_000))`,
    ],
    [
      "writes without end",
      `for (;;) try { require("fs").writeSync(1, "x".repeat(65_536)) } catch {}`,
      "still",
    ],
    [
      "writes lines without end",
      `for (;;) try { require("fs").writeSync(1, "x\\n".repeat(32_768)) } catch {}`,
      "still",
    ],
    ["ends in the middle of a line", `require("fs").writeSync(1, '{"jsonrpc":"2.0","id":'); process.exit(0)`],
    ["kills its launcher", `process.kill(process.ppid, "SIGKILL"); await new Promise(() => {})`],
    [
      "leaves a process that has its stdin and stdout",
      `require("child_process").spawn("/usr/bin/perl", ["-e", "sleep 600"], { stdio: "inherit", detached: true }).on("spawn", () => process.exit(0));
       await new Promise(() => {})`,
    ],
  ])("%s, which ends no more than that call", async (_what, code, still?: "still") => {
    const { probe, upstream, project } = start();
    expect(await probe("return 1")).toEqual({ value: 1 });
    const call = upstream.call({
      ...toolCall("probe"),
      arguments: { code },
      timeoutMs: still === undefined ? 30_000 : 3_000,
    });
    expect((await upstreamErrorOf(call)).message).toMatch(/^server 'probe' /);
    const owner = formatIdentity(project.own.self);
    if (still === undefined) {
      expect(await probe("return 2")).toEqual({ value: 2 });
      expect(await sandboxesOf(owner)).toHaveLength(1);
    }
    await project.close();
    expect(await sandboxesOf(owner)).toEqual([]);

    async function sandboxesOf(owner: string) {
      return (await openTestedEngine(project.own.state.path, "auto", engine).list()).filter(
        (each) => each.owner === owner,
      );
    }
  });

  it("has a child that writes into its stdout, which loses no answer", async () => {
    const { probe, warnings } = start();
    const chatter = `
      const child = require("child_process").spawn("/usr/bin/perl", ["-e", '$| = 1; print "no message $_\\n" for 1 .. 200'], { stdio: ["ignore", "inherit", "ignore"] });
      await new Promise((resolve) => child.on("close", resolve));
      return 1;`;
    expect(await probe(chatter)).toEqual({ value: 1 });
    expect(await probe("return 2")).toEqual({ value: 2 });
    expect(warnings.length).toBeLessThanOrEqual(1);
  });

  it("does not outlive a ptc that is killed, whatever holds its stdin and stdout", async () => {
    const { directory, text } = start({ files: [{ path: "./data", write: true }] });
    chmodSync(join(directory, "data"), 0o777);
    const beats = `$| = 1; for (;;) { open my $file, ">", "/srv/project/data/beat"; print $file time, " ", $n++; close $file; select undef, undef, undef, 0.05 }`;
    const code = `
      require("child_process").spawn("/usr/bin/perl", ["-e", ${JSON.stringify(beats)}], { stdio: "inherit", detached: true });
      process.on("SIGTERM", () => {}); setInterval(() => {}, 1_000);
      return 1`;
    const owner = spawn(
      process.execPath,
      [join(import.meta.dirname, "processes/server-owner-process.ts"), directory, text, code],
      {
        stdio: ["ignore", "pipe", "inherit"],
        env: { PATH: process.env.PATH },
      },
    );
    onTestFinished(() => void owner.kill("SIGKILL"));
    await once(owner.stdout, "data");
    const beat = () => readFileSync(join(directory, "data/beat"), "utf8");
    await eventually(() => expect(beat()).not.toBe(""));
    const first = beat();
    await eventually(() => expect(beat()).not.toBe(first));
    owner.kill("SIGKILL");
    await eventually(async () => {
      const last = beat();
      await delay(1_000);
      expect(beat()).toBe(last);
    });
  });
});
