/** Asks for the token of a server as one of many processes: on a line from stdin, and prints it. `argv`: URL, state folder. */
import { once } from "node:events";
import { parseConfiguration } from "../../../../configuration/parse.ts";
import { openLoginStore } from "../../../../logins/logins.ts";
import { composeAuthorizations } from "../../../../project/servers/upstreams.ts";
import { ownLoginSecrets } from "../../../../upstream/secret-sources.ts";

const [, , url, folder = ""] = process.argv;
const text = JSON.stringify({ servers: [{ name: "guarded", url }] });
const configuration = parseConfiguration(text, { file: "ptc.yaml", directory: "/", environment: {} });
const store = openLoginStore({ XDG_STATE_HOME: folder, PTC_KEYRING: "off" });
const authorization = composeAuthorizations(configuration, store, ownLoginSecrets({}))("local", "guarded");
process.stdout.write("ready\n");
await once(process.stdin, "data");
process.stdout.write(`${await authorization?.token().catch((error: Error) => error.message)}\n`);
process.exit(0);
