import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import { envelopeOf, usePtc } from "./ptc-process.ts";

const newProject = usePtc();

const COUNT = 400_000;
const MANY = {
  "many.ts": `globalThis.result = Array.from({ length: ${COUNT} }, (_, i) => i);`,
  "many.py": `list(range(${COUNT}))`,
};
const LARGE = {
  "large.ts": 'globalThis.result = Array.from({ length: 200_000 }, (_, i) => "row é " + i);',
  "large.py": '[f"row é {i}" for i in range(200_000)]',
};

describeSandboxed("ptc run --out", () => {
  test.each(["ts", "py"] as const)(
    "writes a result of more values and bytes than others may have, of which the envelope has the ends; a replay agrees (%s)",
    async (suffix) => {
      const project = newProject({ "ptc.yaml": { languages: ["typescript", "python"] }, ...MANY, ...LARGE });
      const refused = envelopeOf(await project.ptc(["run", `many.${suffix}`]));
      expect(refused.result).toMatchObject({
        error: {
          type: "OutputLimit",
          message: expect.stringMatching(/more than 250000 values; return less: .* emit\(/),
        },
      });
      const run = envelopeOf(await project.ptc(["run", `many.${suffix}`, "--out", "many.json"]));
      expect(run.result).toMatchObject({
        ok: true,
        data: { truncated: true, head: expect.stringMatching(/^\[0,1,2,/) },
      });
      const written: unknown = JSON.parse(readFileSync(join(project.directory, "many.json"), "utf8"));
      expect(written).toHaveLength(COUNT);
      expect(await project.ptc(["replay", run.run_id])).toMatchObject({ code: 0 });
      await project.ptc(["run", `large.${suffix}`, "--out", "large.json"]);
      const rows: string[] = JSON.parse(readFileSync(join(project.directory, "large.json"), "utf8"));
      expect(rows.at(-1)).toBe("row é 199999");
    },
  );

  test("writes a text as it is, in the place of what was there, and nothing where the program fails", async () => {
    const project = newProject({
      "text.ts": 'globalThis.result = "a,b\\n1,2\\n";',
      "printed.ts": 'console.log("printed"); console.log("é");',
      "fails.ts": 'throw new Error("no");',
    });
    const read = (file: string) => readFileSync(join(project.directory, file), "utf8");
    await project.ptc(["run", "text.ts", "--out", "out.csv"]);
    expect(read("out.csv")).toBe("a,b\n1,2\n");
    chmodSync(join(project.directory, "out.csv"), 0o600);
    await project.ptc(["run", "printed.ts", "--out", "out.csv"]);
    expect(read("out.csv")).toBe("printed\né\n");
    expect(statSync(join(project.directory, "out.csv")).mode & 0o777).toBe(0o600);
    expect(await project.ptc(["run", "fails.ts", "--out", "out.csv"])).toMatchObject({ code: 1 });
    expect(read("out.csv")).toBe("printed\né\n");
    expect(readdirSync(project.directory).filter((name) => name.startsWith(".out"))).toEqual([]);
  });

  test("refuses in one line, before anything runs, what it cannot write or would lose", async () => {
    const project = newProject({ "text.ts": 'globalThis.result = "lost";', "data.csv": "kept" });
    mkdirSync(join(project.directory, "folder"));
    for (const [args, message] of [
      [["--out", "text.ts"], "--out: text.ts: the run reads this file; name another"],
      [
        ["--file", "data.csv", "--out", "./data.csv"],
        "--out: ./data.csv: the run reads this file; name another",
      ],
      [["--out", "folder"], "--out: folder: is there, and is no plain file; name another"],
      [["--out", "nowhere/out.json"], "--out: nowhere/out.json: there is no such folder"],
    ] as const)
      expect(await project.ptc(["run", "text.ts", ...args])).toEqual({
        code: 2,
        stdout: "",
        stderr: `ptc: ${message}\n`,
      });
    expect(readFileSync(join(project.directory, "text.ts"), "utf8")).toContain("lost");
  });
});
