import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { Project } from "./ptc-process.ts";

const COMMAND = join(import.meta.dirname, "../../cli/start.ts");

/**
 * A folder in which `ptc` is started as a process from its sources, without a build: for commands that start no sandbox. The
 * folder is also its user's home.
 */
export function projectFromSources(files: Record<string, string | object> = {}): Project & { env: Env } {
  const folder = mkdtempSync(join(tmpdir(), "ptc-sources-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const project = new Project(folder, COMMAND);
  for (const [name, content] of Object.entries(files)) project.write(name, content);
  const env = {
    HOME: folder,
    XDG_STATE_HOME: undefined,
    XDG_CONFIG_HOME: undefined,
    CLAUDE_CONFIG_DIR: undefined,
  };
  return Object.assign(project, { env });
}

type Env = Record<string, string | undefined>;
