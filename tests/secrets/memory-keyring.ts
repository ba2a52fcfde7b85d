import type { KeyringPackage } from "../../secrets/keyring.ts";

/** A keyring in memory, in the form of the package. */
export function memoryPackage(fault?: () => Error | undefined) {
  const values = new Map<string, string>();
  const access = <T>(result: () => T): T => {
    const error = fault?.();
    if (error !== undefined) throw error;
    return result();
  };
  class MemoryEntry {
    readonly #key: string;
    constructor(service: string, account: string) {
      this.#key = `${service}/${account}`;
    }
    getPassword = async () => access(() => values.get(this.#key) ?? null);
    setPassword = async (value: string) => access(() => void values.set(this.#key, value));
    deleteCredential = async () => access(() => values.delete(this.#key));
  }
  const findCredentialsAsync: KeyringPackage["findCredentialsAsync"] = async (service) =>
    access(() =>
      [...values]
        .filter(([key]) => key.startsWith(`${service}/`))
        .map(([key, password]) => ({ account: key.slice(service.length + 1), password })),
    );
  const load = async (): Promise<KeyringPackage> => ({
    AsyncEntry: MemoryEntry as unknown as KeyringPackage["AsyncEntry"],
    findCredentialsAsync,
  });
  return { values, load };
}
