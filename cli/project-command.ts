import type { Command, CommandOptions } from "commander";
import type { Project } from "../project/open-project.ts";
import type { Surroundings } from "../project/surroundings.ts";
import { type DefineCommand, defineCommand, type ExitCode, warnOn } from "./command.ts";

/** The flag that names a project. */
interface ProjectFlags {
  config?: string | undefined;
}

/**
 * A command about the project that its option `--config` names. `run` receives the open project, which is closed when it has settled, and the same
 * as the function of `defineCommand`.
 */
export function defineProjectCommand<Given extends [...unknown[], ProjectFlags]>(
  name: string,
  run: (project: Project, ...given: [...Given, Surroundings]) => Promise<ExitCode>,
  describe: (command: Command) => Command,
  options?: CommandOptions,
): DefineCommand {
  return defineCommand<Given>(
    name,
    async (...given) => {
      const surroundings = given.at(-1) as Surroundings;
      const flags = given.at(-2) as ProjectFlags;
      return inProject(flags, surroundings, (project) => run(project, ...given));
    },
    describe,
    options,
  );
}

/** Opens the project that `--config` names, does some work with it, and closes it. @throws ConfigurationError */
export async function inProject<T>(
  flags: ProjectFlags,
  surroundings: Pick<Surroundings, "env" | "cwd" | "stderr">,
  work: (project: Project) => Promise<T>,
): Promise<T> {
  const project = await openProjectOf(flags, surroundings);
  try {
    return await work(project);
  } finally {
    await project.close();
  }
}

/** Opens the project that `--config` names. The caller closes it. @throws ConfigurationError */
export async function openProjectOf(
  { config }: ProjectFlags,
  { env, cwd, stderr }: Pick<Surroundings, "env" | "cwd" | "stderr">,
  onWarning: (message: string) => void = warnOn(stderr),
): Promise<Project> {
  const { openProject } = await import("../project/open-project.ts");
  return openProject({ flag: config, env, cwd: cwd() }, { onWarning });
}
