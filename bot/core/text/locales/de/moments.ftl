### Times: how they are said, and what was wrong with one

moment-spelled = { $date }, { $time } Uhr, { $zone }
moment-place = Zeit in { $place }
moment-in-days =
    { $count ->
        [one] in { $count } Tag
       *[other] in { $count } Tagen
    }
moment-in-hours = in { $hours } Std.
moment-in-minutes = in { $minutes } Min.
moment-in-both = in { $hours } Std. { $minutes } Min.

problem-moment = ⚠ Darin finde ich keine Zeit. Schreib zum Beispiel <code>morgen 18:00</code>, <code>in 2 Stunden</code>, <code>Freitag 18 Uhr</code> oder <code>31.12. 23:59</code>.
problem-moment-past = ⚠ Das ist schon vorbei: { $moment }. Schreib eine Zeit, die noch kommt, zum Beispiel <code>morgen 18:00</code> oder <code>in 2 Stunden</code>.
problem-moment-far = ⚠ Das ist zu weit weg: Möglich sind höchstens 3.650 Tage. Schreib einen näheren Tag, zum Beispiel <code>31.12.</code> oder <code>in 3 Tagen</code>.
problem-moment-date = ⚠ Dieses Datum gibt es nicht. Schreib zum Beispiel <code>31.12. 18:00</code> oder <code>2 Wochen</code>.
problem-moment-weekday = ⚠ Dieses Datum fällt auf einen anderen Wochentag. Schreib nur das Datum oder nur den Tag, zum Beispiel <code>31.12.</code> oder <code>Freitag</code>.
problem-moment-gap = ⚠ Da werden die Uhren vorgestellt und überspringen diese Zeit. Schreib eine Stunde früher oder später, zum Beispiel <code>morgen 18:00</code>.
problem-clock = ⚠ Darin erkenne ich keine eindeutige Uhrzeit. Schreib zum Beispiel <code>20:00</code> oder <code>20 Uhr</code>.
problem-hours = ⚠ Darin erkenne ich nicht, von wann bis wann. Schreib zum Beispiel <code>22:00-7:30</code> oder <code>22 bis 7 Uhr</code>.
problem-zone = ⚠ Diese Zeitzone kenne ich nicht. Schreib eine große Stadt in deiner Nähe, ein Land oder den Abstand zu UTC, zum Beispiel <code>Berlin</code>, <code>New York</code> oder <code>UTC+2</code>.
problem-zone-minutes = ⚠ Den Abstand zu UTC verstehe ich nur in ganzen Stunden. Schreib stattdessen eine große Stadt in deiner Nähe, zum Beispiel <code>Kolkata</code> oder <code>Kathmandu</code>.
