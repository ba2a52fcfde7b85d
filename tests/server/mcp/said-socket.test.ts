import { execFile } from "node:child_process";
import { mkdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { handOver, hearSaid, parseSaid } from "../../../server/mcp/said-socket.ts";
import { ancestorsOf } from "../../../system/ancestors.ts";
import { openState } from "../../../system/state-directory.ts";
import { eventually } from "../../eventually.ts";
import { newFolder } from "../../temporary-folder.ts";

/** A process that takes what its user says, started by this client. */
function serving(client: number) {
  const env = { XDG_RUNTIME_DIR: join(newFolder(), "run") };
  mkdirSync(env.XDG_RUNTIME_DIR, { mode: 0o700 });
  const own = openState(env);
  const said: string[] = [];
  const socket = hearSaid(own.state.path, client, (text) => void said.push(text));
  onTestFinished(() => {
    socket.close();
    own.state.remove();
  });
  return { env, said, folder: own.state.path };
}

test("takes what its own client hands over, and nothing of another's", async () => {
  // The hook and the serving process have the same parent.
  const { env, said } = serving(process.ppid);
  await eventually(async () => expect(await handOver("pay 50 to Ada", env)).toBe(1));
  expect(said).toEqual(["pay 50 to Ada"]);
  const other = serving(process.ppid + 1_000_000);
  await eventually(async () => expect(await handOver("pay 50 to Eve", other.env)).toBe(0));
  expect(other.said).toEqual([]);
});

test("is not ended by what is no word of a user", async () => {
  const { env, said, folder } = serving(process.ppid);
  await eventually(async () => expect(await handOver("one", env)).toBe(1));
  for (const bytes of ["garbage\n", "{}\n", `${"x".repeat(1_100_000)}`, '{"said":1,"from":[]}\n'])
    await new Promise<void>((resolve) => {
      const socket = connect(join(folder, "said.sock"), () => socket.write(bytes));
      socket.on("error", () => {}).resume();
      socket.once("close", () => resolve());
    });
  expect(await handOver("two", env)).toBe(1);
  expect(said).toEqual(["one", "two"]);
  expect([parseSaid('{"said":"a","from":[1],"more":1}'), parseSaid("[".repeat(100))]).toEqual([
    undefined,
    undefined,
  ]);
});

test("the processes that have started a process are known, the nearest first", async () => {
  expect(ancestorsOf(process.pid, 3)[0]).toBe(process.ppid);
  const { stdout } = await promisify(execFile)("sh", ["-c", "echo $$; exec sleep 0"]);
  expect(Number(stdout)).toBeGreaterThan(1);
  expect(ancestorsOf(2 ** 30, 3)).toEqual([]);
});
