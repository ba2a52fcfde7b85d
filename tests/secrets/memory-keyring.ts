import type { KeyringPackage } from "../../secrets/keyring.ts";

/** A keyring in memory, in the form of the package. */
export function memoryPackage(fault?: () => Error | undefined) {
  const values = new Map<string, string>();
  class MemoryEntry {
    readonly #key: string;
    constructor(service: string, account: string) {
      this.#key = `${service}/${account}`;
    }
    async getPassword() {
      const error = fault?.();
      if (error !== undefined) throw error;
      return values.get(this.#key) ?? null;
    }
    async setPassword(value: string) {
      const error = fault?.();
      if (error !== undefined) throw error;
      values.set(this.#key, value);
    }
    async deleteCredential() {
      const error = fault?.();
      if (error !== undefined) throw error;
      return values.delete(this.#key);
    }
  }
  const findCredentialsAsync: KeyringPackage["findCredentialsAsync"] = async (service) => {
    const error = fault?.();
    if (error !== undefined) throw error;
    return [...values]
      .filter(([key]) => key.startsWith(`${service}/`))
      .map(([key, password]) => ({ account: key.slice(service.length + 1), password }));
  };
  const load = async (): Promise<KeyringPackage> => ({
    AsyncEntry: MemoryEntry as unknown as KeyringPackage["AsyncEntry"],
    findCredentialsAsync,
  });
  return { values, load };
}
