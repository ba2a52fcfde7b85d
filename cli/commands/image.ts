import { jsonLine } from "../../base/json.ts";
import { formatBytes } from "../../base/quantities.ts";
import { oneLine } from "../../base/visible-text.ts";
import { buildImage, clusterManifests, pruneUnusedImages } from "../../project/sandboxes/image.ts";
import type { Surroundings } from "../../project/surroundings.ts";
import {
  CONFIG,
  type CommonFlags,
  defineCommand,
  defineGroup,
  EXIT,
  type ExitCode,
  tell,
  UsageError,
  write,
} from "../command.ts";
import { openProjectOf } from "../project-command.ts";

interface BuildFlags extends CommonFlags {
  base?: string;
}

/** `ptc image` */
export const imageCommand = defineGroup(
  "image",
  () => [defineBuild, definePrune, defineManifests],
  (command) =>
    command
      .description("the image that programs run in")
      .addHelpText("after", "\nExample:\n  ptc image build\n"),
);

const defineBuild = defineCommand("build", build, (command) =>
  command
    .description("build the image that this project needs; does nothing when it is up to date")
    .option(...CONFIG)
    .option("--base <image>", "base image with Node.js, or `debian-packages` for one made on this machine")
    .option("--json", "print the image's name and digest as JSON")
    .addHelpText("after", "\nExample:\n  ptc image build --base node:24-slim\n"),
);

/** `ptc image build` */
export async function build(flags: BuildFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { env, stdout, stderr } = surroundings;
  const { configuration } = await openProjectOf(flags, surroundings);
  const { reference, digest, built } = await buildImage(configuration, {
    env,
    base: flags.base,
    onProgress: (line) => stderr.write(`${line}\n`),
  });
  await write(
    stdout,
    `${flags.json ? jsonLine({ image: reference, digest, built }) : `${reference} ${digest}`}\n`,
  );
  return EXIT.done;
}

interface PruneFlags extends CommonFlags {
  unusedFor?: string;
}

const definePrune = defineCommand("prune", prune, (command) =>
  command
    .description("remove the images that no project of yours has used or built for some time")
    .option(...CONFIG)
    .option("--unused-for <days>", "how long an image must not have been used (default: 30)")
    .option("--json", "print what was removed as JSON")
    .addHelpText(
      "after",
      "\nImages that a sandbox uses, that this project needs, and that have a name of your own stay.\n\nExample:\n  ptc image prune --unused-for 7\n",
    ),
);

async function prune(flags: PruneFlags, surroundings: Surroundings): Promise<ExitCode> {
  const { env, stdout, stderr } = surroundings;
  const days = flags.unusedFor === undefined ? undefined : Number(flags.unusedFor);
  if (flags.unusedFor !== undefined && !/^\d{1,4}$/.test(flags.unusedFor))
    throw new UsageError(`--unused-for must be a number of days from 0 to 9999, not '${flags.unusedFor}'`);
  const { configuration } = await openProjectOf(flags, surroundings);
  const { removed, kept } = await pruneUnusedImages(configuration, env, days);
  if (flags.json) {
    await write(stdout, `${jsonLine({ removed, kept })}\n`);
    return EXIT.done;
  }
  for (const { reference, why } of kept) await tell(stderr, oneLine(`${reference} stays: ${why}`));
  const lines = removed.map(({ reference, bytes }) => `removed ${reference}, ${formatBytes(bytes)}\n`);
  await write(stdout, lines.length === 0 ? "there is nothing to remove\n" : lines.join(""));
  return EXIT.done;
}

const PULL_POLICIES = ["Always", "IfNotPresent", "Never"] as const;

interface ManifestFlags extends CommonFlags {
  replicas: string;
  runtimeClass: string;
  certificates?: string;
  pullPolicy?: string;
}

const defineManifests = defineCommand("manifests", manifests, (command) =>
  command
    .description("print what a cluster needs for `sandbox.engine: kubernetes`, for `kubectl apply -f -`")
    .argument("<image>", "the runner image as the cluster pulls it, with its digest: NAME@sha256:...")
    .option(...CONFIG)
    .option("--replicas <number>", "how many pods wait for each language", "3")
    .option("--runtime-class <name>", "the RuntimeClass of gVisor", "gvisor")
    .option("--certificates <secret>", "a Secret with the ca.crt, tls.crt and tls.key of ptc-program")
    .option("--pull-policy <policy>", "when nodes pull the image: Always, IfNotPresent or Never")
    .addHelpText(
      "after",
      `\nExample:\n  ptc image manifests registry.example.com/ptc-runner@sha256:${"0123".repeat(16)} | kubectl apply -f -\n`,
    ),
);

async function manifests(image: string, flags: ManifestFlags, surroundings: Surroundings): Promise<ExitCode> {
  if (!/@sha256:[0-9a-f]{64}$/.test(image))
    throw new UsageError(`'${image}' names no digest; write NAME@sha256:..., as \`docker push\` prints it`);
  const replicas = Number(flags.replicas);
  if (!/^\d{1,4}$/.test(flags.replicas) || replicas === 0)
    throw new UsageError(`--replicas must be a number from 1 to 9999, not '${flags.replicas}'`);
  const { runtimeClass, certificates, pullPolicy } = flags;
  const imagePullPolicy = PULL_POLICIES.find((policy) => policy === pullPolicy);
  if (imagePullPolicy === undefined && pullPolicy !== undefined)
    throw new UsageError(`--pull-policy must be ${PULL_POLICIES.join(", ")}, not '${pullPolicy}'`);
  const { configuration } = await openProjectOf(flags, surroundings);
  const list = await clusterManifests(configuration, {
    image,
    replicas,
    runtimeClass,
    certificates,
    imagePullPolicy,
  });
  await write(surroundings.stdout, `${JSON.stringify(list, undefined, 2)}\n`);
  return EXIT.done;
}
