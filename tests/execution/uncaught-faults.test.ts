import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const HOST = new URL("../fixtures/hosts/faulty-host.ts", import.meta.url).pathname;

/** Runs two programs side by side in a process of their own; a fault is planted into what is done for the first. */
async function runBeside(fault: string) {
  const { stdout } = await promisify(execFile)(process.execPath, [HOST, fault]);
  return JSON.parse(stdout) as {
    first: { result: { error?: { type: string; message: string } }; kept: string[] };
    second: { result: object; kept: string[] };
    stray: string[];
  };
}

describe("a fault that nobody catches", () => {
  it.each(["timer", "rejection", "next-tick", "console", "redactor"])(
    "in a %s ends the run that it happens in, which is kept, and no other",
    async (place) => {
      const { first, second, stray } = await runBeside(place);
      expect(first.result).toMatchObject({
        ok: false,
        error: { type: "InternalError", message: expect.stringContaining("planted") },
      });
      expect(first.kept).toEqual(["InternalError"]);
      expect(second.result).toMatchObject({ ok: true, data: 1 });
      expect(second.kept).toEqual(["ok"]);
      expect(stray).toEqual([]);
    },
  );

  it("is not there unless it is planted", async () => {
    const { first, second } = await runBeside("nowhere");
    expect([first.result, second.result]).toEqual([
      expect.objectContaining({ ok: true }),
      expect.objectContaining({ ok: true }),
    ]);
  });
});
