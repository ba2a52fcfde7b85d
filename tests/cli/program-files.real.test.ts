import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeSandboxed } from "../sandbox/in-sandbox.ts";
import { useHosts } from "./background/hosted-project.ts";
import { envelopeOf, fixtureServer, usePtc } from "./ptc-process.ts";

const newProject = usePtc();
const hosted = useHosts();

const BYTES = Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * 7) % 256));
const SHA256 = createHash("sha256").update(BYTES).digest("hex");

const PROGRAMS = {
  "read.ts": `
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
let refused = "";
try { writeFileSync("files/bytes.bin", "x"); } catch (error) { refused = (error as { code: string }).code; }
globalThis.result = {
  names: readdirSync("/workspace/files").sort(),
  sha256: createHash("sha256").update(readFileSync("files/bytes.bin")).digest("hex"),
  refused,
};`,
  "read.py": `
import hashlib, os
try:
    open("files/bytes.bin", "w")
    refused = ""
except OSError as error:
    refused = "EACCES" if error.errno == 13 else str(error)
result = {
    "names": sorted(os.listdir("/workspace/files")),
    "sha256": hashlib.sha256(open("files/bytes.bin", "rb").read()).hexdigest(),
    "refused": refused,
}`,
};

const PROGRAM_NAMES = ["read.ts", "read.py"] as const;

describeSandboxed("files that a program is handed", () => {
  test.each(PROGRAM_NAMES)(
    "are there as they are, under their names alone, and in the record; a replay has the same (%s)",
    async (program) => {
      const project = newProject({ "ptc.yaml": { languages: ["typescript", "python"] }, ...PROGRAMS });
      const path = join(project.directory, "bytes.bin");
      writeFileSync(path, BYTES);
      project.write("a b.csv", "x,y\n1,2\n");
      const flags = ["--file", path, "--file", "data.csv=a b.csv"];
      const ran = envelopeOf(await project.ptc(["run", program, ...flags]));
      expect(ran.result).toMatchObject({
        ok: true,
        data: { names: ["bytes.bin", "data.csv"], sha256: SHA256, refused: "EACCES" },
      });
      writeFileSync(path, "another");
      expect(await project.ptc(["replay", ran.run_id])).toMatchObject({
        code: 0,
        stderr: expect.stringContaining("same: "),
      });
      const shown = JSON.parse((await project.ptc(["runs", "show", ran.run_id, "--json"])).stdout);
      expect(shown.record.files).toMatchObject([
        { name: "bytes.bin", bytes: BYTES.length, digest: `sha256:${SHA256}` },
        { name: "data.csv", bytes: 8 },
      ]);
      expect(JSON.stringify(shown)).not.toContain(project.directory);
      expect((await project.ptc(["runs", "show", ran.run_id])).stdout).toContain(
        `bytes.bin, 100000 bytes, sha256:${SHA256}`,
      );
      const other = envelopeOf(await project.ptc(["run", program, ...flags]));
      expect(other.input_digest).not.toBe(ran.input_digest);
      expect(await project.ptc(["save", ran.run_id, "--name", "reader"])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("was handed files"),
      });
    },
  );

  test("of which one does not fit is one line, and nothing runs", async () => {
    const project = newProject({ ...PROGRAMS });
    expect(await project.ptc(["run", "read.ts", "--file", "nowhere.csv"])).toEqual({
      code: 2,
      stdout: "",
      stderr: "ptc: --file: nowhere.csv: there is no such file\n",
    });
  });

  test("fill the workspace no further than it is large, and may be as many bytes as are allowed", async () => {
    const project = newProject({
      "size.ts": 'import { statSync } from "node:fs"; globalThis.result = statSync("files/large").size;',
    });
    writeFileSync(join(project.directory, "large"), Buffer.alloc(32 * 1024 * 1024, "é"));
    const { result } = envelopeOf(await project.ptc(["run", "size.ts", "--file", "large"]));
    expect(result).toMatchObject({ ok: true, data: 32 * 1024 * 1024 });
  });

  test("stay in a session for later programs, and one of the same name takes the place of that before; a replay agrees", async () => {
    const own = hosted({
      "ptc.yaml": { sessions: { max: 2 }, languages: ["typescript", "python"], sandbox: { warm: 1 } },
      "all.ts":
        'import { readdirSync, readFileSync } from "node:fs"; globalThis.result = readdirSync("files").sort().map((name) => readFileSync(`files/${name}`, "utf8"));',
      "all.py": 'import os\n[open(f"files/{name}").read() for name in sorted(os.listdir("files"))]',
      "one.csv": "one",
      "two.csv": "two",
    });
    for (const program of ["all.ts", "all.py"]) {
      const run = async (...files: string[]) =>
        envelopeOf(
          await own.ptc([
            "run",
            program,
            "--session",
            program.replace(".", ""),
            ...files.flatMap((file) => ["--file", file]),
          ]),
        );
      expect((await run("one.csv")).result).toMatchObject({ data: ["one"] });
      expect((await run("one.csv=two.csv", "two.csv")).result).toMatchObject({ data: ["two", "two"] });
      const last = await run();
      expect(last.result).toMatchObject({ data: ["two", "two"] });
      expect(await own.ptc(["replay", last.run_id])).toMatchObject({ code: 0 });
    }
  });

  test("are there again when a suspended run goes on, whatever became of them", async () => {
    const project = newProject({
      "ptc.yaml": { servers: [fixtureServer("desk", "echo-v1.mjs")], approvals: { ask: ["mcp__desk__*"] } },
      "ask.ts":
        'import { readFileSync } from "node:fs"; globalThis.result = await mcp__desk__echo({ text: readFileSync("files/note.txt", "utf8") });',
      "note.txt": "first",
    });
    await project.generate();
    const env = { XDG_STATE_HOME: join(project.directory, "state") };
    const waiting = await project.ptc(["run", "ask.ts", "--file", "note.txt", "--suspend"], { env });
    expect(envelopeOf(waiting).result).toMatchObject({ error: { type: "ApprovalPending" } });
    const [{ ticket }] = JSON.parse((await project.ptc(["approvals", "list", "--json"], { env })).stdout);
    await project.ptc(["approvals", "approve", ticket], { env });
    project.write("note.txt", "second");
    const refused = await project.ptc(["run", "--ticket", ticket, "--file", "note.txt"], { env });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("has kept the files") });
    const ended = envelopeOf(await project.ptc(["run", "--ticket", ticket], { env }));
    expect(ended).toMatchObject({ run_id: envelopeOf(waiting).run_id, result: { ok: true, data: "first" } });
    expect(await project.ptc(["replay", ended.run_id], { env })).toMatchObject({ code: 0 });
  });
});
