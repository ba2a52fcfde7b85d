import { jsonLine } from "../../base/json.ts";
import { loadConfiguration } from "../../configuration/load.ts";
import { buildImage } from "../../wiring/image.ts";
import {
  CONFIG,
  type CommonFlags,
  defineCommand,
  defineGroup,
  EXIT,
  type ExitCode,
  type Surroundings,
  write,
} from "../command.ts";

interface BuildFlags extends CommonFlags {
  base?: string;
}

/** `ptc image build` */
export const imageCommand = defineGroup(
  "image",
  () => [defineBuild],
  (command) =>
    command
      .description("the image that programs run in")
      .addHelpText("after", "\nExample:\n  ptc image build\n"),
);

const defineBuild = defineCommand("build", build, (command) =>
  command
    .description("build the runner image; does nothing when it is up to date")
    .option(...CONFIG)
    .option("--base <image>", "base image with Node.js, or `debian-packages` for one made on this machine")
    .option("--json", "print the image's name and digest as JSON")
    .addHelpText("after", "\nExample:\n  ptc image build --base node:24-slim\n"),
);

async function build(flags: BuildFlags, { env, cwd, stdout, stderr }: Surroundings): Promise<ExitCode> {
  const configuration = await loadConfiguration({ flag: flags.config, env, cwd: cwd() });
  const { digest, built } = await buildImage(configuration, {
    env,
    base: flags.base,
    onProgress: (line) => stderr.write(`${line}\n`),
  });
  const { image } = configuration.sandbox;
  await write(stdout, `${flags.json ? jsonLine({ image, digest, built }) : `${image} ${digest}`}\n`);
  return EXIT.done;
}
