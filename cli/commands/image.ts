import { join } from "node:path";
import { DockerEngine } from "../../sandbox/docker-engine.ts";
import { DockerImageStore } from "../../sandbox/docker-image-store.ts";
import { buildRunnerImage } from "../../sandbox/runner-image.ts";
import type { DefineCommand } from "../command.ts";
import { loadConfiguration } from "../configuration/load.ts";
import { EXIT } from "../exit-code.ts";
import { packageDirectory } from "../package.ts";
import { write } from "../surroundings.ts";

/** `ptc image build` */
export const imageCommand: DefineCommand = (program, surroundings, finish) => {
  program
    .command("image")
    .description("the image that programs run in")
    .command("build")
    .description("build the runner image; does nothing when it is up to date")
    .option("--config <file>", "configuration file")
    .option("--base <image>", "base image with Node.js, or `debian-packages` for one made on this machine")
    .option("--json", "print the image's name and digest as JSON")
    .addHelpText("after", "\nExample:\n  ptc image build --base node:24-slim\n")
    .action(async (options: { config?: string; base?: string; json?: boolean }) => {
      const configuration = await loadConfiguration({
        flag: options.config,
        env: surroundings.env,
        cwd: surroundings.cwd(),
      });
      const image = await buildRunnerImage({
        store: new DockerImageStore(new DockerEngine().docker),
        runnerPath: join(packageDirectory, "dist/image/runner.mjs"),
        dockerfilePath: join(packageDirectory, "Dockerfile.runner"),
        ...(options.base === undefined ? {} : { base: options.base }),
        reference: configuration.sandbox.image,
        onProgress: (line) => surroundings.stderr.write(`${line}\n`),
      });
      const text = options.json
        ? JSON.stringify({ image: configuration.sandbox.image, digest: image.digest, built: image.built })
        : `${configuration.sandbox.image} ${image.digest}`;
      await write(surroundings.stdout, `${text}\n`);
      finish(EXIT.done);
    });
};
