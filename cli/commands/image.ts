import { jsonLine } from "../../base/json.ts";
import { loadConfiguration } from "../../configuration/load.ts";
import { buildImage } from "../../wiring/image.ts";
import { type DefineCommand, EXIT, write } from "../command.ts";

/** `ptc image build` */
export const imageCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("image")
    .description("the image that programs run in")
    .addHelpText("after", "\nExample:\n  ptc image build\n")
    .command("build")
    .description("build the runner image; does nothing when it is up to date")
    .option("--config <file>", "configuration file")
    .option("--base <image>", "base image with Node.js, or `debian-packages` for one made on this machine")
    .option("--json", "print the image's name and digest as JSON")
    .addHelpText("after", "\nExample:\n  ptc image build --base node:24-slim\n")
    .action(async (options: { config?: string; base?: string; json?: boolean }) => {
      const { env, stdout, stderr } = surroundings;
      const cwd = surroundings.cwd();
      const configuration = await loadConfiguration({ flag: options.config, env, cwd });
      const { digest, built } = await buildImage(configuration, {
        base: options.base,
        onProgress: (line) => stderr.write(`${line}\n`),
      });
      const { image } = configuration.sandbox;
      await write(stdout, `${options.json ? jsonLine({ image, digest, built }) : `${image} ${digest}`}\n`);
      finish(EXIT.done);
    });
};
