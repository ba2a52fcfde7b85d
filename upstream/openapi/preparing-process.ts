/**
 * The process that reads a large description, which may take long and much memory. Its input is a line with the settings and the text;
 * its output the lines of `prepareApi`, or one line that says why there are none, and an empty line at the end.
 */
import { UpstreamError } from "../upstream-error.ts";
import { type PreparationSettings, prepareApi } from "./prepared-api.ts";

const chunks: Buffer[] = [];
for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
const input = Buffer.concat(chunks);
const end = input.indexOf("\n");
const { from, ...settings } = JSON.parse(input.toString("utf8", 0, end)) as PreparationSettings & {
  from: string;
};
try {
  for (const line of prepareApi(input.toString("utf8", end + 1), from, settings))
    if (!process.stdout.write(`${line}\n`))
      await new Promise((resolve) => process.stdout.once("drain", resolve));
} catch (error) {
  if (!(error instanceof UpstreamError)) throw error;
  process.stdout.write(`${JSON.stringify(["failed", error.code, error.message])}\n`);
}
process.stdout.write("\n");
