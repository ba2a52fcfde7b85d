import type { SecretKeyring } from "../upstream/secret-sources/secret-source.ts";
import type { EnvironmentVariables } from "./environment-variables.ts";

/** The keyring of the user. */
export function openKeyring(_env: EnvironmentVariables): SecretKeyring {
  return {
    async get() {
      throw new Error("cannot be used by this version of ptc");
    },
  };
}
