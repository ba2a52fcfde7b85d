import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { eventually } from "../../eventually.ts";
import { fixtureServer, type PtcProcess, usePtc } from "../ptc-process.ts";

const project = usePtc();

const MODULE = "generated/servers/following/index.ts";

/** A folder whose server has the tools that `tools.txt` names, and ptc watching it. */
async function watch() {
  const folder = project({ "tools.txt": "first" });
  const server = fixtureServer("following", "follows-file.mjs", [`${folder.directory}/tools.txt`]);
  folder.write("ptc.yaml", { servers: [server] });
  const ptc = folder.start(["generate", "--watch"]);
  await ptc.printed(/watching for changed tools/);
  const tools = () => [...folder.read(MODULE).matchAll(/^export const (\w+)/gm)].map(([, name]) => name);
  const becomes = (names: string[]) => eventually(() => expect(tools()).toEqual(names));
  return { folder, ptc, becomes, server: server.args.at(-1) ?? "" };
}

async function interrupt(ptc: PtcProcess) {
  ptc.kill("SIGINT");
  return ptc.exited;
}

/** Processes that were started with this argument. */
function processesOf(argument: string): string {
  return spawnSync("pgrep", ["-f", "--", `follows-file.mjs ${argument}`], { encoding: "utf8" }).stdout;
}

describe("ptc generate --watch", () => {
  test("writes modules anew whenever a server says that its tools have changed, until it is interrupted", async () => {
    const { folder, ptc, becomes, server } = await watch();
    await becomes(["first"]);
    folder.write("tools.txt", "first second");
    await becomes(["first", "second"]);
    folder.write("tools.txt", "second third");
    await becomes(["second", "third"]);
    expect(processesOf(server)).not.toBe("");
    const { code, stdout } = await interrupt(ptc);
    expect(code).toBe(0);
    // A server may announce a change in steps, each of which may be seen.
    expect(stdout.match(/^following +\d tools? /gm)?.length).toBeGreaterThanOrEqual(3);
    expect(processesOf(server)).toBe("");
    expect(folder.state()).toEqual([]);
    expect(await folder.ptc(["generate", "--check"])).toMatchObject({ code: 0, stdout: "" });
  });

  test("keeps the modules of a server that dies, says so once, and follows it again when it is back", async () => {
    const { folder, ptc, becomes } = await watch();
    folder.write("tools.txt", "die");
    await ptc.printed(/warning: .*'following'.*; its last modules are kept/);
    await becomes(["first"]);
    folder.write("tools.txt", "first again");
    await becomes(["again", "first"]);
    folder.write("tools.txt", "last");
    await becomes(["last"]);
    const { code, stderr } = await interrupt(ptc);
    expect(code).toBe(0);
    expect(stderr.match(/its last modules are kept/g)).toHaveLength(1);
    expect(folder.state()).toEqual([]);
  });

  test("ends at once when it is interrupted while a server does not answer", async () => {
    const folder = project({ "ptc.yaml": { servers: [fixtureServer("silent", "never-answers.mjs")] } });
    const ptc = folder.start(["generate", "--watch"]);
    await eventually(() => expect(folder.state()).not.toEqual([]));
    expect((await interrupt(ptc)).code).toBe(0);
    expect(folder.state()).toEqual([]);
  });
});
