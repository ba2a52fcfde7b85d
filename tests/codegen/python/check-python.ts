import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";

/** What a type checker says of one place. Lines count from 0. */
export interface Found {
  path: string;
  line: number;
  message: string;
}

/** Type-checks files with pyright's strictest settings, in a folder of their own. */
export function checkPython(files: ReadonlyMap<string, string>): Found[] {
  const dir = mkdtempSync(join(tmpdir(), "ptc-stubs-"));
  try {
    const config = JSON.stringify({ typeCheckingMode: "strict", pythonVersion: "3.11", include: ["."] });
    for (const [path, text] of [...files, ["pyrightconfig.json", config] as const]) {
      mkdirSync(dirname(join(dir, path)), { recursive: true });
      writeFileSync(join(dir, path), text);
    }
    const pyright = resolve(import.meta.dirname, "../../../node_modules/pyright/index.js");
    const run = spawnSync(process.execPath, [pyright, "--project", dir, "--outputjson"], {
      encoding: "utf8",
      maxBuffer: 2 ** 28,
    });
    if (run.error) throw run.error;
    const { generalDiagnostics, summary } = JSON.parse(run.stdout) as {
      generalDiagnostics: { file: string; message: string; range?: { start: { line: number } } }[];
      summary: { filesAnalyzed: number };
    };
    if (summary.filesAnalyzed === 0) throw new Error(`pyright saw no file: ${run.stderr}`);
    return generalDiagnostics.map(({ file, message, range }) => ({
      path: file.slice(file.indexOf(dir) + dir.length + 1),
      // What pyright says of a whole file has no range.
      line: range?.start.line ?? 0,
      message,
    }));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
