// A calendar file that tells when to come back. It names neither study nor person, since calendars are shared.

const stamp = (seconds) => new Date(seconds * 1000).toISOString().replace(/[-:]|\.\d+/g, "");

/** Lines of at most 75 octets, as calendars want them; the text is ASCII. */
const folded = (line) => line.match(/^.{1,75}|.{1,74}/g).join("\r\n ");

/** An event (RFC 5545) from the moment when the second round opens, with an alarm; all times in seconds of Unix time. */
export function calendarFile(campaign, opens, closes, now) {
  const last = new Date(closes * 1000).toISOString().slice(0, 16).replace("T", " ");
  const todo = `Open the link of your letter again\\, in the same browser\\, before ${last} UTC.`;
  return [
    "BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//VA-Edge-LDP//Take part//EN", "BEGIN:VEVENT",
    `UID:${campaign.slice(0, 32)}@take-part.invalid`, `DTSTAMP:${stamp(now)}`, `DTSTART:${stamp(opens)}`,
    `DTEND:${stamp(Math.min(opens + 1800, closes))}`, "SUMMARY:Second round: open the link of your letter", `DESCRIPTION:${todo}`,
    "BEGIN:VALARM", "ACTION:DISPLAY", "TRIGGER:PT5M", "DESCRIPTION:Second round", "END:VALARM",
    "END:VEVENT", "END:VCALENDAR", "",
  ].map((line) => line && folded(line)).join("\r\n");
}
