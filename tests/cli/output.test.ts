import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { folderOfTest, ptcIn } from "./in-process.ts";

const COMMAND = join(import.meta.dirname, "../../cli/start.ts");

function failing(code: string): Writable {
  return new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error(`write ${code}`), { code })),
  });
}

describe("output that cannot be written", () => {
  it.each([["--version"], ["--help"], ["completion", "bash"], ["run", "--help"]])(
    "fails `ptc %s` with one line",
    async (...args) => {
      const { code, stderr } = await ptcIn(folderOfTest(), args, { stdout: failing("ENOSPC") });
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: "ptc: the output could not be written: no space is left there (ENOSPC)\n",
      });
    },
  );

  it("does not change the exit code of a command that failed on its own", async () => {
    const { code, stderr } = await ptcIn(folderOfTest(), ["list", "--limit", "x"], {
      stdout: failing("EIO"),
    });
    expect(code).toBe(2);
    expect(stderr).not.toContain("could not be written");
  });

  it.each(["EPIPE", "ECONNRESET"])("is no failure when the reader wanted no more: %s", async (code) => {
    expect(await ptcIn(folderOfTest(), ["--version"], { stdout: failing(code) })).toMatchObject({
      code: 0,
      stderr: "",
    });
  });

  it.skipIf(!existsSync("/dev/full"))("fails a command whose stdout is a full device", () => {
    const ptc = `"${process.execPath}" --no-warnings "${COMMAND}" --version`;
    const { status, stderr } = spawnSync("sh", ["-c", `${ptc} > /dev/full`], { cwd: folderOfTest() });
    expect(stderr.toString()).toContain("ptc: the output could not be written: no space is left there");
    expect(status).toBe(1);
    const piped = spawnSync("sh", ["-c", `${ptc} | true`], { cwd: folderOfTest() });
    expect(piped.stderr.toString()).toBe("");
  });

  it.skipIf(process.platform === "win32")("fails a command whose output fits a file only in part", () => {
    // A limit of one block stands for a disk that becomes full. Help is longer.
    const script = `trap '' XFSZ; ulimit -f 1; "${process.execPath}" --no-warnings "${COMMAND}" --help > out`;
    const { status, stderr } = spawnSync("sh", ["-c", script], { cwd: folderOfTest() });
    expect(stderr.toString()).toContain("ptc: the output could not be written: the file would be too large");
    expect(status).toBe(1);
  });
});
