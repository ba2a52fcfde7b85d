/**
 * Prints the arguments with which Dockerfile.runner builds an image that says what is in it, as `ptc image build` does, for builds that are
 * not ptc's own.
 *
 *     node scripts/build.ts && node scripts/runner-arguments.ts --base IMAGE [--github-output]
 */
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildArguments } from "../sandbox/docker/image-labels.ts";
import { digestContent, readRunnerFiles } from "../sandbox/image/needed-image.ts";

const root = join(import.meta.dirname, "..");
const { values } = parseArgs({
  options: { base: { type: "string" }, "github-output": { type: "boolean", default: false } },
});
const files = readRunnerFiles(join(root, "dist/image"), join(root, "Dockerfile.runner"));
if (values.base === undefined || files === undefined) {
  console.error("runner-arguments: --base names the base, and dist/image comes from `node scripts/build.ts`");
  process.exit(2);
}
const contents = {
  // The base is known by its name alone before it is fetched.
  content: digestContent(files, values.base),
  runner: digestContent(files, ""),
  base: values.base,
  pythonPackages: [],
};
const lines = Object.entries({ BASE: values.base, ...buildArguments(contents) }).map(
  ([name, value]) => `${name}=${value}`,
);
if (!values["github-output"]) console.log(lines.join("\n"));
else appendFileSync(process.env.GITHUB_OUTPUT ?? "", `arguments<<END\n${lines.join("\n")}\nEND\n`);
