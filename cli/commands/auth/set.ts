import { KEYRING_NAME, KEYRING_NAME_RULE } from "../../../host/configuration/secret-values/secret-value.ts";
import { UserSecrets } from "../../../host/user-secrets.ts";
import { readTextStream } from "../../arguments/text-file.ts";
import type { DefineCommand } from "../../command.ts";
import { EXIT, type ExitCode, UsageError } from "../../exit-code.ts";
import { type Surroundings, write } from "../../surroundings.ts";
import { readHidden } from "../../terminal/hidden-line.ts";

const MAX_BYTES = 64 * 1024;

/** `ptc auth set NAME` */
export const defineSet: DefineCommand = (auth, surroundings, finish) => {
  auth
    .command("set")
    .description("put a secret into the keyring, for { keyring: NAME } in ptc.yaml, without it being seen")
    .argument("<name>", "letters, digits, . _ / and -")
    .option("--remove", "take it out again")
    .addHelpText(
      "after",
      "\nIt is asked for on the terminal, or read from stdin. It is no argument, because others see those.\n\nExample:\n  ptc auth set github-token\n  pass show github | ptc auth set github-token\n",
    )
    .action(async (name: string, flags: { remove?: boolean }) => {
      finish(await set(name, flags, surroundings));
    });
};

async function set(
  name: string,
  { remove = false }: { remove?: boolean },
  surroundings: Surroundings,
): Promise<ExitCode> {
  const { stdout, stderr, env } = surroundings;
  if (!KEYRING_NAME.test(name)) throw new UsageError(`a name in the keyring has ${KEYRING_NAME_RULE}`);
  const secrets = new UserSecrets(env);
  if (remove) {
    const removed = await secrets.delete(name);
    if (!removed.ok) return failed(removed.why);
    if (!removed.wasThere) throw new UsageError(`there is no '${name}' that \`ptc auth set\` has kept`);
    await write(stdout, `'${name}' is removed\n`);
    return EXIT.done;
  }
  const value = await readValue(name, surroundings);
  if (value === undefined) return EXIT.failed;
  const kept = await secrets.set(name, value);
  if (!kept.ok) return failed(kept.why);
  await write(stdout, `'${name}' is kept in ${kept.where}; ptc.yaml takes it as { keyring: ${name} }\n`);
  return EXIT.done;

  async function failed(why: string): Promise<ExitCode> {
    await write(stderr, `ptc: '${name}': ${why}\n`);
    return EXIT.failed;
  }
}

/** The value, without the line feed at its end; `undefined` when the person would not give it. */
async function readValue(name: string, surroundings: Surroundings): Promise<string | undefined> {
  const { stdin, stderr } = surroundings;
  if (stdin.isTTY === true && stderr.isTTY !== true)
    throw new UsageError(`there is no terminal to ask for '${name}' on; pipe it in`);
  const value =
    stdin.isTTY === true
      ? await readHidden(`Value of '${name}' (it is not shown): `, surroundings)
      : (await readTextStream(stdin, "stdin", MAX_BYTES)).replace(/\r?\n$/, "");
  if (value === undefined) return undefined;
  if (value === "") throw new UsageError(`nothing was given for '${name}'; nothing was changed`);
  if (value.includes("\0"))
    throw new UsageError(`the value of '${name}' has a NUL character; nothing was changed`);
  if (Buffer.byteLength(value) > MAX_BYTES)
    throw new UsageError(`the value of '${name}' is larger than ${MAX_BYTES} bytes; nothing was changed`);
  return value;
}
