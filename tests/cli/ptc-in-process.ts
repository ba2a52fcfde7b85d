import { Readable } from "node:stream";
import { main } from "../../cli/main.ts";
import { surroundingsIn } from "./commands/runs-projects.ts";
import { projectFromSources } from "./ptc-from-sources.ts";
import type { Exited } from "./ptc-process.ts";

/** A folder with this configuration, in which commands that start no sandbox run in this process. No engine is there. */
export function projectInProcess(configuration: string | object) {
  const project = projectFromSources({ "ptc.yaml": configuration });
  const ptc = async (args: string[], env: Record<string, string> = {}): Promise<Exited> => {
    const surroundings = {
      ...surroundingsIn(project.directory, ["node", "ptc", ...args]),
      env: {
        HOME: project.directory,
        PATH: process.env.PATH,
        PTC_KEYRING: "off",
        PTC_HOST: "off",
        XDG_RUNTIME_DIR: `${project.directory}/run`,
        DOCKER_HOST: "unix:///nowhere/docker.sock",
        ...env,
      },
      stdin: Readable.from([]),
    };
    const code = await main(surroundings);
    return { code, stdout: surroundings.stdout.text, stderr: surroundings.stderr.text };
  };
  /** Makes a call, and gives what it printed. */
  const call = (...args: string[]) => ptc(["call", ...args]);
  const auditLines = () =>
    project
      .read(".ptc/audit.jsonl")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { project, ptc, call, auditLines };
}
