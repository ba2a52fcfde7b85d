/**
 * `node server-owner-process.ts DIRECTORY CONFIGURATION CODE`: a ptc of its own that has the server `probe` run the code, says so in a line, and
 * stays.
 */
import { parseConfiguration } from "../../../configuration/parse.ts";
import { Project } from "../../../project/open-project.ts";
import { composeUpstreams } from "../../../project/servers/upstreams.ts";

const [directory = "", text = "", code = ""] = process.argv.slice(2);
const configuration = parseConfiguration(text, { file: "ptc.yaml", directory, environment: {} });
const project = new Project(configuration, {
  env: process.env,
  keyring: { get: async () => undefined },
  onWarning: () => {},
});
const { pool } = composeUpstreams(project);
await pool
  .get("local", "probe")
  ?.call({ tool: "probe", arguments: { code }, signal: new AbortController().signal, timeoutMs: 120_000 });
process.stdout.write("asked\n");
setInterval(() => {}, 1_000);
