import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { finishWithoutUs, ProcessGroups } from "../../../system/process-group.ts";
import { whySlow } from "../../../upstream/mcp/start-time.ts";
import { notReadyInTime } from "../../../upstream/tool-servers.ts";
import { eventually } from "../../eventually.ts";
import { connect, fixture, isAlive, upstreamErrorOf } from "../upstream-fixtures.ts";

/** A server that installs itself in a folder of its own. */
function installer(sign: "stderr" | "processor" | "nothing", tookMs: number) {
  const folder = mkdtempSync(join(tmpdir(), "ptc-installer-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { args, ...target } = fixture("installs-itself.mjs");
  return {
    target: { ...target, args: [...args, folder, sign, String(tookMs)] },
    begun: () => existsSync(join(folder, "begun")),
    complete: () => existsSync(join(folder, "complete")),
    pid: () => Number(readFileSync(join(folder, "begun"), "utf8")),
  };
}

describe("a server that installs itself when it is first started", () => {
  it.each(["stderr", "processor"] as const)(
    "is waited for as long as its %s shows that something goes on",
    async (sign) => {
      const { target } = installer(sign, 7_000);
      const slow: string[] = [];
      const connection = await connect(target, {
        connectTimeoutMs: 2_000,
        onSlowStart: (line) => slow.push(line),
      });
      expect((await connection.list()).protocolVersion).toBe("2025-11-25");
      expect(slow).toEqual([expect.stringMatching(/^server 'x' is still starting after \d+ s$/)]);
    },
  );

  it("is given up where it shows nothing for long, with what it has spent its time on", async () => {
    const { target } = installer("nothing", 600_000);
    const error = await upstreamErrorOf(connect(target, { connectTimeoutMs: 1_000 }));
    expect(error).toMatchObject({
      code: "connect_timeout",
      message: expect.stringMatching(
        /did not complete the MCP handshake within \d+ s; is it an MCP server\?/,
      ),
    });
  });

  it("finishes its installation where nobody wants it any more, and ends then", async () => {
    const { target, begun, complete, pid } = installer("stderr", 3_000);
    const controller = new AbortController();
    const connecting = upstreamErrorOf(connect(target, { signal: controller.signal }));
    await eventually(() => expect(begun()).toBe(true));
    controller.abort();
    expect((await connecting).code).toBe("cancelled");
    expect(complete()).toBe(false);
    await eventually(() => expect(complete()).toBe(true));
    await eventually(() => expect(isAlive(pid())).toBe(false));
    expect(await (await connect(target)).list()).toMatchObject({ protocolVersion: "2025-11-25" });
  });

  it("finishes its installation where ptc ends meanwhile, also what it writes then", async () => {
    const { target, begun, complete, pid } = installer("stderr", 4_000);
    const module = join(import.meta.dirname, "../../../upstream/mcp/connect-mcp-server.ts");
    const code = `
      const { connectMcpServer } = await import(${JSON.stringify(module)});
      connectMcpServer(${JSON.stringify(target)}, { clientVersion: "0" }).catch(() => {});
      process.stdin.once("data", () => process.exit(0));`;
    const ptc = spawn(process.execPath, ["--input-type=module", "-e", code], {
      stdio: ["pipe", "ignore", "inherit"],
    });
    await eventually(() => expect(begun()).toBe(true));
    ptc.stdin.write("end\n");
    await once(ptc, "exit");
    expect(complete()).toBe(false);
    await eventually(() => expect(complete()).toBe(true));
    await eventually(() => expect(isAlive(pid())).toBe(false));
  });

  it("is not killed by the ptc after one that was, unlike a server that had started", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ptc-groups-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, "groups"));
    const groups = new ProcessGroups(join(folder, "groups"));
    const starts = (isStarting: boolean) => {
      const { target, ...rest } = installer("processor", 3_000);
      const child = spawn(target.command, target.args, {
        detached: true,
        stdio: ["ignore", "ignore", "ignore"],
      });
      groups.record(child.pid ?? 0, isStarting);
      return rest;
    };
    const [starting, started] = [starts(true), starts(false)];
    await eventually(() => expect([starting.begun(), started.begun()]).toEqual([true, true]));
    groups.kill((pid) => finishWithoutUs(pid));
    await eventually(() => expect(starting.complete()).toBe(true));
    await eventually(() => expect(isAlive(starting.pid())).toBe(false));
    expect([started.complete(), isAlive(started.pid())]).toEqual([false, false]);
  });
});

it.each([
  ["npx", "npx may be downloading it"],
  ["/usr/local/bin/uvx", "uvx may be downloading it"],
  ["node", undefined],
])("the start of %s is explained", (command, why) => {
  expect(whySlow(command)).toBe(why);
  expect(notReadyInTime("x", 1_000, false, why).message).toContain(
    why === undefined ? "it goes on with that, so" : `it goes on with that (${why}), so`,
  );
});
