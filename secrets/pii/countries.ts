/** Countries whose phone numbers are known: those of libphonenumber. */
const PHONE_COUNTRIES =
  "AC AD AE AF AG AI AL AM AO AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GT GU GW GY HK HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TA TC TD TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW";

/** Countries whose ids of persons are known: those of stdnum. */
const ID_COUNTRIES =
  "AD AI AL AO AR AT AU AZ BA BE BG BR BY BZ CA CH CL CN CO CR CU CZ DE DK DO EC EE ES FI FR GB GH GR GT HK HR HU ID IE IL IN IS IT KR LI LT LV ME MK MU MX MY MZ NL NO NZ PE PK PL PT PY RO RS RU SE SI SK SV TH TR TW UA US UY VN ZA";

/** The countries of a kind, in plain lists: a configuration is read without the packages that recognise anything. */
export function countriesWith(kind: "phone" | "national_id"): string[] {
  return (kind === "phone" ? PHONE_COUNTRIES : ID_COUNTRIES).split(" ");
}
