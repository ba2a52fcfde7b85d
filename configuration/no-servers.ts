import type { Configuration } from "./configuration.ts";

/** Why there are no servers, where ptc has looked and what to do, in one line; `undefined` when there are some. */
export function whyNoServers({
  file,
  directory,
  servers,
}: Pick<Configuration, "file" | "directory" | "servers">): string | undefined {
  if (servers.length > 0) return undefined;
  if (file !== undefined)
    return `${file} names no servers; add them under \`servers:\`, or take over those of another client with \`ptc init --import\``;
  const advice =
    "run `ptc init` there, or name the file: `ptc serve --config /path/to/ptc.yaml`, or PTC_CONFIG";
  return `no configuration was found: there is no ptc.yaml and no config.yaml in ${directory}, the folder in which ptc was started; ${advice}`;
}
