/** An authenticator in software: ES256, without attestation (WebAuthn Level 3, sections 6.1 and 6.5). */
import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

const sha256 = (bytes: Uint8Array | string) => createHash("sha256").update(bytes).digest();

const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;

interface Asked {
  challenge: string;
  rpId?: string | undefined;
  rp?: { id?: string } | undefined;
}

export class SoftwarePasskey {
  readonly #id = randomBytes(16);
  readonly #keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  readonly #origin: string;
  /** How often it has signed. */
  counter = 0;
  /** Whether it says that a person has shown who they are. */
  verifies = true;

  constructor(origin: string) {
    this.#origin = origin;
  }

  get id(): string {
    return this.#id.toString("base64url");
  }

  /** Its answer to the options of a registration, as JSON. */
  create({ challenge, rp }: Asked): string {
    const { x = "", y = "" } = this.#keys.publicKey.export({ format: "jwk" });
    const bytes = (text: string) => Buffer.concat([Buffer.from([0x58, 32]), Buffer.from(text, "base64url")]);
    // { 1: 2, 3: -7, -1: 1, -2: x, -3: y }: an EC2 key for ES256 on P-256, in CBOR.
    const key = Buffer.concat([
      Buffer.from("a5010203262001", "hex"),
      ...[Buffer.from([0x21]), bytes(x), Buffer.from([0x22]), bytes(y)],
    ]);
    const credential = Buffer.concat([Buffer.alloc(16), Buffer.from([0, this.#id.length]), this.#id, key]);
    const data = Buffer.concat([this.#data(rp?.id, HAS_CREDENTIAL), credential]);
    // { fmt: "none", attStmt: {}, authData: data }
    const attestation = Buffer.concat([
      Buffer.from("a363666d74646e6f6e656761747453746d74a0686175746844617461", "hex"),
      Buffer.from([0x58, data.length]),
      data,
    ]);
    return this.#answer({
      clientDataJSON: this.#client("webauthn.create", challenge),
      attestationObject: attestation.toString("base64url"),
    });
  }

  /** Its answer to the options of a use, as JSON. */
  get({ challenge, rpId }: Asked): string {
    this.counter++;
    const data = this.#data(rpId, 0);
    const client = this.#client("webauthn.get", challenge);
    const signed = Buffer.concat([data, sha256(Buffer.from(client, "base64url"))]);
    return this.#answer({
      clientDataJSON: client,
      authenticatorData: data.toString("base64url"),
      signature: sign("sha256", signed, this.#keys.privateKey).toString("base64url"),
    });
  }

  #data(rpId = "", more: number): Buffer {
    const flags = USER_PRESENT | (this.verifies ? USER_VERIFIED : 0) | more;
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.counter);
    return Buffer.concat([sha256(rpId), Buffer.from([flags]), counter]);
  }

  #client(type: string, challenge: string): string {
    const data = { type, challenge, origin: this.#origin, crossOrigin: false };
    return Buffer.from(JSON.stringify(data)).toString("base64url");
  }

  #answer(response: object): string {
    return JSON.stringify({
      ...{ id: this.id, rawId: this.id, type: "public-key", response },
      clientExtensionResults: {},
    });
  }
}
