# The options of a new request, the forms of an edit and of the settings.
# HTML and values as in chat.ftl; option-, button- and what stands on buttons is plain text.

## More options

button-options = ⚙ Mehr Angaben
button-done = ✅ Fertig
button-remove = 🗑 Entfernen
button-off = Ausschalten
button-make-price = Preis auf { $amount } setzen
option-name = Name
option-amount = Betrag
option-units = Stückzahl
option-description = Beschreibung
option-picture = Foto
option-picture-set = hinzugefügt
option-instrument = Zahlungswährung
option-receivers = Zahlung aufteilen
option-starts = Beginn
option-ends = Ende
option-asks = Daten abfragen
option-redirect = Nach der Zahlung
option-email = E-Mail-Meldungen
option-set = { $option }: { $value }
ask-options =
    <b>Noch etwas?</b>
    Alles hier kann bleiben, wie es ist. Tippe auf „Fertig“, um deinen Zahlungslink zu prüfen.
understood = 👍 { $line }

## What an option asks

ask-picture =
    <b>Schick mir ein Foto davon.</b>
    Man sieht es auf der Zahlungsseite und überall, wo du den Zahlungslink teilst. Auch eine JPEG-, PNG- oder WebP-Datei ist möglich.
ask-instrument =
    <b>In welcher Währung wird gezahlt?</b>
    Der Preis bleibt in { $currency } und wird bei der Zahlung umgerechnet. Wähle unten aus oder schreib ein Kürzel wie <code>BSV</code>.
ask-receivers =
    <b>Wer teilt sich jede Zahlung von { $price }?</b>
    Pro Zeile ein Empfänger, mit Prozentsatz, Betrag oder „Rest“.
    <code>$anna 60%</code>
    <code>$ben 40%</code>
    Oder <code>$anna 1,50</code> und <code>$ben Rest</code>. Stehen da nur Namen, wird gleich geteilt.
ask-starts =
    <b>Ab wann kann gezahlt werden?</b>
    Vorher ist der Zahlungslink noch nicht geöffnet. Zum Beispiel <code>morgen 18:00</code>, <code>in 2 Stunden</code> oder <code>31.12.</code>
ask-ends =
    <b>Bis wann kann gezahlt werden?</b>
    Danach geht es nicht mehr. Zum Beispiel <code>morgen 18:00</code>, <code>in 3 Tagen</code> oder <code>31.12.</code>
ask-end =
    <b>Bis wann soll künftig gezahlt werden können?</b>
    Zum Beispiel <code>morgen 18:00</code>, <code>in 3 Tagen</code> oder <code>31.12.</code>
ask-asks =
    <b>Was brauchst du von den Zahlenden?</b>
    Sie werden vor der Zahlung danach gefragt, und du siehst die Antworten bei jeder Zahlung. Tippe auf alles, was du brauchst.
ask-redirect =
    <b>Wohin geht es nach der Zahlung?</b>
    Schreib eine Webadresse, zum Beispiel <code>https://example.org/danke</code>.
ask-email =
    <b>Wer soll zu jeder Zahlung eine E-Mail bekommen?</b>
    Schreib eine Adresse, zum Beispiel <code>anna@example.org</code>. Hier melde ich mich auf jeden Fall.
ask-which-moment =
    <b>Welche Zeit meinst du?</b>
    Das lässt sich auf mehr als eine Art lesen. Wähle unten aus oder schreib sie noch einmal.

## The review

review-instrument = Gezahlt wird in: <b>{ $value }</b>
review-picture = Foto hinzugefügt ✓
review-receivers = Jede Zahlung wird aufgeteilt:
review-receiver = • <code>{ $destination }</code> { $share }
review-receivers-more =
    { $count ->
        [one] • und { $count } weiterer
       *[other] • und { $count } weitere
    }
review-starts = Beginn: { $value }
review-ends = Ende: { $value }
review-asks = Abgefragt wird: { $value }
review-redirect = Nach der Zahlung: { $value }
redirect-receipt-first = Zuerst sehen Zahlende ihren Beleg. Ein Knopf darauf führt weiter zu deiner Webadresse.
review-email = E-Mails zu Zahlungen gehen an: { $value }
paid-in-price = Gezahlt wird in der Währung des Preises.
picture-set = 👍 Foto hinzugefügt.

## Settings

button-zone = 🕒 Zeitzone
button-quiet = 🌙 Ruhezeit
button-summary = 📊 Tagesübersicht
settings-zone = Zeitzone: { $value }
settings-quiet = Ruhezeit: { $value }
settings-summary = Tagesübersicht: { $value }
ask-zone =
    <b>In welcher Zeitzone bist du?</b>
    Damit Zeiten zu deiner Uhr passen. Wähle unten aus oder schreib eine große Stadt in deiner Nähe, zum Beispiel <code>Berlin</code>.
ask-which-zone =
    <b>Welche davon ist es?</b>
    Es passen mehrere. Wähle unten aus oder schreib eine Stadt.
ask-quiet =
    <b>Wann soll ich leise sein?</b>
    Nachrichten kommen weiterhin an, nur lautlos. Zum Beispiel <code>22:00-7:00</code>.
ask-summary =
    <b>Wann soll ich die Tagesübersicht schicken?</b>
    Sie zeigt, was in den letzten 24 Stunden eingegangen ist. Zum Beispiel <code>20:00</code>.
zone-saved = Gespeichert. Deine Zeitzone ist { $zone }.
quiet-saved = Gespeichert. In deiner Ruhezeit, { $hours }, kommen Nachrichten lautlos an.
quiet-off = Gespeichert. Die Ruhezeit ist ausgeschaltet.
summary-saved = Gespeichert. Die Tagesübersicht kommt jeden Tag um { $time }.
summary-off = Gespeichert. Die Tagesübersicht ist ausgeschaltet.

## An edit

ask-units-out =
    <b>Wie viele Stück möchtest du herausnehmen?</b>
    Sie werden dann nicht mehr verkauft. Schreib eine ganze Zahl, zum Beispiel <code>5</code>.
ask-postertext =
    <b>Was soll auf dem Plakat stehen?</b>
    Deine eigenen Worte, mit bis zu 300 Zeichen, zum Beispiel <i>Täglich von 9 bis 18 Uhr</i>.
cancelled-edit = Abgebrochen. Es wurde nichts geändert.
resume-short = Du hast eine Frage offen gelassen. Möchtest du sie jetzt beantworten?

## What was wrong with an answer

problem-receivers-few = ⚠ Ich finde nur einen Empfänger. Schreib mindestens zwei, pro Zeile einen, zum Beispiel <code>$anna 60%</code> und <code>$ben 40%</code>. Mit /settings änderst du, wohin dein ganzes Geld geht.
problem-receivers-many = ⚠ Das sind { $count } Empfänger, möglich sind { $most }. Bitte lass einige weg.
problem-receivers-unclear = ⚠ „{ $typed }“ lässt sich auf mehr als eine Art lesen. Schreib es ohne Tausendertrennung, zum Beispiel <code>1000</code> oder <code>1,50</code>.
problem-receivers-currency = ⚠ Der Preis ist in { $currency }, also sind es auch die Anteile. Schreib sie in { $currency } oder als Prozentsätze.
problem-receivers-percent = ⚠ „{ $typed }“ ist kein Anteil. Schreib mehr als 0 und höchstens 100 Prozent mit bis zu vier Nachkommastellen, zum Beispiel <code>33,3%</code>.
problem-receivers-twice = ⚠ <code>{ $destination }</code> kommt zweimal vor. Schreib jeden Empfänger einmal.
problem-receivers-mixed = ⚠ Manche haben einen Prozentsatz, andere einen Betrag oder nichts. Schreib alle auf dieselbe Art; einer darf den <code>Rest</code> bekommen.
problem-receivers-rests = ⚠ Nur einer kann den Rest bekommen. Schreib für die anderen einen Prozentsatz oder einen Betrag.
problem-receivers-nothing = ⚠ Für <code>{ $destination }</code> bliebe von diesem Preis nichts übrig. Schreib einen größeren Anteil oder erhöhe den Preis.
problem-receivers-whole = ⚠ Die Prozentsätze ergeben zusammen { $percent } %. Es müssen 100 % sein. Nimm „Rest“ für das, was übrig bleibt.
problem-receivers-sum = ⚠ Diese Beträge ergeben { $amount }, der Preis ist aber { $price }. Schreib sie noch einmal oder ändere den Preis.
problem-receivers-rest = ⚠ Die Beträge lassen vom Preis nichts für den Rest übrig. Schreib kleinere.
problem-receivers-decimals = ⚠ { $currency } hat nicht so viele Nachkommastellen. Schreib die Beträge mit weniger.
problem-redirect = ⚠ Mit dieser Webadresse kann ich nichts anfangen. Schreib eine ohne Leerzeichen, zum Beispiel <code>https://example.org/danke</code>.
problem-redirect-long = ⚠ Das sind { $length } Zeichen, möglich sind { $most }. Bitte nimm eine kürzere Adresse.
problem-email = ⚠ Das ist keine E-Mail-Adresse. Schreib eine wie <code>anna@example.org</code>.
email-unavailable = Er verschickt keine E-Mails.
problem-units-left =
    { $left ->
        [one] ⚠ Es ist nur noch { $left } Stück übrig. Schreib eine kleinere Zahl.
       *[other] ⚠ Es sind nur noch { $left } Stück übrig. Schreib eine kleinere Zahl.
    }
problem-picture = ⚠ Hier brauche ich ein Foto. Schick eins oder geh zurück.
problem-postertext-empty = ⚠ Darin finde ich keinen Text. Schreib ein paar Worte für das Plakat.
problem-postertext-long = ⚠ Das sind { $length } Zeichen, möglich sind { $most }. Bitte kürze den Text.
problem-starts-late = ⚠ Dann wäre beim Beginn schon Schluss. Schreib eine frühere Zeit oder ändere zuerst das Ende.
problem-ends-early = ⚠ Dann wäre vor dem Beginn schon Schluss. Schreib eine spätere Zeit.
