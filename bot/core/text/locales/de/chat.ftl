# The conversation, the cards, the alerts. HTML as Telegram has it: b, i, code, a.
# Button labels, toasts and what begins with command- or bot- are plain text.
# Values come escaped. A number passed as a number is grouped and takes part in plurals.
# A request is a "Zahlungslink", its seller is "du", the destination an "Empfangsadresse".

## Telegram's profile and menu of commands

bot-description =
    Lass dich direkt in Telegram bezahlen. Sag mir, wofür und wie viel. Ich erstelle dir einen Zahlungslink mit QR-Code, den du überall teilen kannst, und sage dir sofort Bescheid, wenn jemand zahlt.

    Für Spenden, Einzelverkäufe und limitierte Auflagen. Tippe auf „Starten“, um deinen ersten zu erstellen.
bot-short-description = In einer Minute zum Zahlungslink: überall teilen und jede Zahlung sofort sehen.
command-new = Neuer Zahlungslink, Schritt für Schritt
command-list = Deine Zahlungslinks
command-find = Eine Zahlung an ihrer Nummer finden
command-donation = In einer Zeile: 5 EUR Kaffee fürs Team
command-oneoff = In einer Zeile: 120 EUR Bild "Morgenrot"
command-drop = In einer Zeile: 100 2,50 EUR Stickerbogen
command-settings = Profil, Empfangsadresse, Zeitzone, Ruhezeit
command-help = So funktioniert alles
command-cancel = Laufende Eingabe abbrechen
command-privacy = Was ich über dich speichere
command-paysupport = Hilfe bei einer Zahlung
command-start = Los geht’s

## Greeting and help

start =
    <b>Hallo!</b> Ich erstelle Zahlungslinks für dich.
    Sag mir, wofür und wie viel, und teile dann den Link oder den QR-Code. Ich melde mich hier, sobald jemand zahlt.

    Tippe auf <b>Neuer Zahlungslink</b>, um deinen ersten zu erstellen.
digital-goods =
    <i>Digitale Waren dürfen in Telegram nur gegen Sterne verkauft werden. Nutze mich für Spenden, für Waren zum Anfassen und für Dienstleistungen vor Ort.</i>
help =
    <b>Was ich erstelle</b>
    • <b>Spende</b>: ein Link, über den immer wieder gezahlt werden kann.
    • <b>Einzelverkauf</b>: für ein einzelnes Stück. Nach der Zahlung ist Schluss.
    • <b>Limitierte Auflage</b>: eine feste Stückzahl. Ist das letzte Stück verkauft, ist Schluss.

    <b>Schritt für Schritt</b>
    /new führt dich durch alles. /cancel bricht jederzeit ab.

    <b>In einer Zeile</b>
    <code>/donation 5 EUR Kaffee fürs Team</code>
    <code>/oneoff 120 EUR Bild "Morgenrot"</code>
    <code>/drop 100 2,50 EUR Stickerbogen</code>
    Als Text unter einem Foto oder einer Datei geschickt, kommt auch das dazu.

    <b>Danach</b>
    /list zeigt deine Zahlungslinks. Jeder hat eine Karte mit Knöpfen: teilen, Plakat drucken, Zahlungen ansehen, bearbeiten, Meldungen wählen, pausieren oder löschen.
    <b>Teilen</b> stellt eine Karte in einen beliebigen Chat und hält sie dort aktuell. Du findest deine Zahlungslinks auch, wenn du in einem Chat meinen Namen mit @ davor tippst.
    /payments zeigt deine letzten Zahlungen, und welche auf deine Antwort warten.
    /alerts zeigt Zahlungen, die ich dir nicht melden konnte.
    /find sucht eine Zahlung über Verwendungszweck oder Transaktionsnummer und einen Zahlungslink über seinen Namen.
    /getpaid legt fest, wohin dein Geld geht.
    /bought zeigt, was du gekauft hast, mit deinen Belegen.
    /settings: Profil, Empfangsadresse, Zeitzone, Ruhezeit und Tagesübersicht.
    /privacy erklärt, was ich speichere, /paysupport hilft bei einer Zahlung.
not-understood = Ich weiß nicht recht, was ich damit anfangen soll. Tippe auf <b>Neuer Zahlungslink</b> oder sieh dir /help an.
paysupport =
    <b>Hilfe bei einer Zahlung</b>
    <b>Du hast bezahlt:</b> Frag zuerst dort nach, woher der Link kam. Wer verkauft, liefert auch die Ware und erstattet Geld. Halte die Transaktionsnummer von deinem Beleg bereit.
    <b>Du verkaufst:</b> Schick /find mit der Transaktionsnummer, die man dir nennt. Wie es um einen Zahlungslink steht, siehst du über /list.
    Wenn das nicht hilft, schreib an { $operator } und nenne die Transaktionsnummer. Der Support von Telegram kann bei Zahlungen über diesen Bot nicht helfen.
privacy =
    <b>Was ich speichere und wozu</b>
    • Deine Telegram-ID und deine Sprache, um dich zu erkennen und in deiner Sprache zu antworten.
    • Deine Empfangsadresse oder deine Empfangskonten, damit dein Geld dorthin kommt; Schlüssel sind verschlüsselt. Deine Zeitzone, Ruhezeit, Uhrzeit der Tagesübersicht und letzten Preise, damit ich nicht noch einmal fragen muss.
    • Dein Profil (Name, Bild, Kontakt und mehr), um Zahlenden zu zeigen, wem sie etwas zahlen.
    • Deine Zahlungslinks mit ihren Fotos und angefangene Eingaben, um sie dir zu zeigen und für dich zu verwalten.
    • Welche Nachrichten einen Zahlungslink zeigen, auch in anderen Chats, um sie aktuell zu halten.
    • Was du schreibst und antippst, bis es erledigt ist, damit nichts verloren geht.
    • Belege, die du hier speicherst: was du wann gekauft hast. Was du bekommen hast, bleibt beim Zahlungsdienst. Ich hole es nur, um es dir zu zeigen.
    • Zahlungen an dich, mit den Angaben, um die du gebeten hast (etwa einer E-Mail-Adresse), und deinen Notizen dazu, um sie dir zu melden.

    <b>Wer es sieht</b>
    Du und alle, die diesen Bot und den Zahlungsdienst dahinter betreiben. Wer einen Link hat, sieht, was dort angeboten wird, und dein Profil, sonst nichts. Nichts davon wird verkauft oder für Werbung genutzt.

    <b>Wie lange</b>
    Solange du den Bot nutzt. Eine Eingabe wird gelöscht, sobald du sie abschließt oder abbrichst.

    <b>Deine Daten löschen</b>
    Schreib an { $operator }: Dann wird alles über dich gelöscht, bis auf Belege über Zahlungen, die gesetzlich aufbewahrt werden müssen.

## Buttons

button-new = ➕ Neuer Zahlungslink
button-list = 📋 Meine Links
button-help = ❓ Hilfe
button-back = ⬅ Zurück
button-cancel = ✖ Abbrechen
button-skip = Überspringen
button-keep = Behalten: { $value }
button-create = ✅ Erstellen
button-continue = Weitermachen
button-restart = Neu anfangen
button-donation = ☕ Spende
button-oneoff = 🖼 Einzelverkauf
button-drop = 🎟 Limitierte Auflage
button-set-destination = 🏦 Empfangsadresse angeben
button-change-destination = 🏦 Empfangsadresse ändern
button-open = 🔗 Öffnen
button-copy = 📄 Link kopieren
button-share = 📣 Teilen
button-refresh = 🔄 Aktualisieren
button-stop = ⏸ Pausieren
button-resume = ▶ Fortsetzen
button-delete = 🗑 Löschen
button-delete-yes = Ja, löschen
button-keep-it = Nein, behalten
button-previous = ⬅ Vorherige
button-next = Nächste ➡
button-show-card = Zahlungslink zeigen
button-pay = { $amount } zahlen

## The form, step by step

progress = <i>Schritt { $step } von { $steps }</i>
ask-kind =
    <b>Was für ein Zahlungslink soll es werden?</b>
    • <b>Spende</b>: Es kann immer wieder gezahlt werden.
    • <b>Einzelverkauf</b>: Nach der Zahlung ist Schluss.
    • <b>Limitierte Auflage</b>: eine feste Stückzahl.
ask-name =
    <b>Wie heißt dein Angebot?</b>
    Den Namen sehen alle, die zahlen. Zum Beispiel: <i>Kaffee fürs Team</i>
ask-description =
    <b>Beschreibe es in ein, zwei Sätzen</b>, mit bis zu 500 Zeichen.
    Zum Beispiel: <i>Stark und heiß, aus der Maschine neben der Tür</i>
ask-amount-donation = <b>Wie hoch ist eine Spende?</b>
ask-amount-oneoff = <b>Was kostet es?</b>
ask-amount-drop = <b>Was kostet ein Stück?</b>
ask-amount-hint = Schreib Betrag und Währung, zum Beispiel <code>5 EUR</code> oder <code>2,50 €</code>.
ask-amount-usual = Schreib <code>{ $example }</code> für { $meant } oder nenne eine andere Währung wie <code>{ $other }</code>.
ask-which-amount =
    <b>Welchen Betrag meinst du?</b>
    Das lässt sich auf mehr als eine Art lesen. Wähle unten aus oder schreib ihn noch einmal.
ask-currency =
    <b>In welcher Währung?</b>
    Wähle unten aus oder schreib das Kürzel, zum Beispiel <code>SEK</code>.
ask-units =
    <b>Wie viele Stück gibt es?</b>
    Schreib eine ganze Zahl, zum Beispiel <code>100</code>.
ask-destination = <b>Wohin soll das Geld gehen?</b>
ask-destination-settings = <b>Wohin soll dein Geld ab jetzt gehen?</b>
review = <b>Stimmt alles?</b>
review-name = Name: <b>{ $value }</b>
review-kind = Art: { $value }
review-amount = Betrag: <b>{ $value }</b>
review-units = Stückzahl: <b>{ $value }</b>
review-description = Beschreibung: { $value }
review-destination = Das Geld geht an: <code>{ $value }</code>
kind-donation = Spende
kind-oneoff = Einzelverkauf
kind-drop = Limitierte Auflage
resume =
    Du hast schon einen Zahlungslink angefangen: <b>{ $name }</b>.
    Möchtest du weitermachen oder neu anfangen?
unnamed = noch ohne Namen
cancelled = Abgebrochen. Es wurde nichts erstellt.
nothing-to-cancel = Es gibt gerade nichts abzubrechen. Was möchtest du tun?
destination-saved = Gespeichert. Dein Geld geht ab jetzt an <code>{ $destination }</code>.
refused =
    ⚠ Der Zahlungsdienst hat das nicht angenommen: { $message }
    Bitte ändere es und tippe dann noch einmal auf „Erstellen“.
settings =
    <b>Einstellungen</b>
    Dein Geld geht an <code>{ $destination }</code>.
settings-none =
    <b>Einstellungen</b>
    Du hast noch keine Empfangsadresse angegeben.
count =
    { $count ->
        [one] { $count } Stück
       *[other] { $count } Stück
    }

## What was wrong with an answer, and how to put it right

problem-control = ⚠ Da ist ein Zeichen dabei, das ich nicht anzeigen kann. Bitte schreib es noch einmal.
problem-name-empty = ⚠ Ein Name muss sein, zum Beispiel <i>Kaffee fürs Team</i>.
problem-name-long = ⚠ Das sind { $length } Zeichen, möglich sind { $most }. Bitte kürze den Namen.
problem-description-empty = ⚠ Darin finde ich keinen Text. Bitte schreib einen Satz.
problem-description-long = ⚠ Das sind { $length } Zeichen, möglich sind { $most }. Bitte kürze den Text.
problem-destination-account = ⚠ Mit „account:“ beginnt kein Handle und keine Wallet-Adresse. Schick deine eigene, zum Beispiel <code>$anna</code>.
problem-destination-empty = ⚠ Darin finde ich kein Handle. Schreib eines wie <code>$anna</code>.
problem-destination-long = ⚠ Das sind { $length } Zeichen, möglich sind { $most }. Ist das wirklich ein Handle oder eine Wallet-Adresse?
problem-destination-spaces = ⚠ Ein Handle oder eine Wallet-Adresse hat keine Leerzeichen und keine unsichtbaren Zeichen. Schick nur das Handle oder die Adresse, zum Beispiel <code>$anna</code>.
problem-amount = ⚠ Darin finde ich keinen Betrag. Schreib eine Zahl und eine Währung, zum Beispiel <code>{ $example }</code>.
problem-amount-notPositive = ⚠ Der Betrag muss größer als null sein, zum Beispiel <code>{ $example }</code>.
problem-amount-tooLarge = ⚠ Das ist zu viel: Möglich sind höchstens 1.000.000.000. Schreib einen kleineren Betrag, zum Beispiel <code>{ $example }</code>.
problem-amount-decimals =
    { $decimals ->
        [0] ⚠ { $currency } hat keine Nachkommastellen. Schreib einen ganzen Betrag, zum Beispiel <code>{ $example }</code>.
        [one] ⚠ { $currency } hat höchstens { $decimals } Nachkommastelle. Schreib den Betrag mit weniger, zum Beispiel <code>{ $example }</code>.
       *[other] ⚠ { $currency } hat höchstens { $decimals } Nachkommastellen. Schreib den Betrag mit weniger, zum Beispiel <code>{ $example }</code>.
    }
problem-currency = ⚠ „{ $typed }“ kenne ich nicht. Schreib ein Währungskürzel, zum Beispiel EUR.
problem-units = ⚠ Bitte schreib die Stückzahl als ganze Zahl ab 1, zum Beispiel <code>100</code>.
problem-units-many = ⚠ Möglich sind höchstens { $most } Stück. Schreib eine kleinere Zahl, zum Beispiel <code>100</code>.
problem-press = Bitte tippe unten auf einen der Knöpfe.

## The one-line forms

line-no-amount = ⚠ Der Betrag fehlt.
line-no-currency = ⚠ Die Währung fehlt. Sie steht gleich nach dem Betrag, als Kürzel wie <code>EUR</code>.
line-no-units = ⚠ Die Stückzahl fehlt.
line-two-currencies = ⚠ { $one } oder { $other }? Nenne bitte nur eine Währung.
line-form-donation =
    Schreib Betrag (ohne Leerzeichen), Währung und Namen:
    <code>/donation 5 EUR Kaffee fürs Team</code>
line-form-oneoff =
    Schreib Betrag (ohne Leerzeichen), Währung und Namen:
    <code>/oneoff 120 EUR Bild "Morgenrot"</code>
line-form-drop =
    Schreib Stückzahl, Betrag (ohne Leerzeichen), Währung und Namen:
    <code>/drop 100 2,50 EUR Stickerbogen</code>

## Short answers to a press (200 characters)

toast-finished = Diese Eingabe ist schon abgeschlossen. Mit /new beginnst du eine neue.
toast-unknown = Dieser Knopf funktioniert hier nicht mehr. Mit /new erstellst du einen Zahlungslink.
toast-changed = Die Angaben haben sich seitdem geändert. Bitte prüfe sie noch einmal.
toast-creating = Wird erstellt …

## A request's card

card-name = <b>{ $name }</b>
card-facts = { $kind } · <b>{ $amount }</b>
card-paid =
    { $paid ->
        [0] Noch keine Zahlungen
        [one] { $paid } Zahlung
       *[other] { $paid } Zahlungen
    }
card-reserved =
    { $reserved ->
        [one] { $reserved } Zahlung läuft gerade
       *[other] { $reserved } Zahlungen laufen gerade
    }
left = { $left } übrig
left-of = { $left } von { $total } übrig
status-active = 🟢 Aktiv
status-active-left = 🟢 { $left }
status-active-oneoff = 🟢 Aktiv: schließt nach der Zahlung
status-scheduled = 🕒 Geplant: noch nicht geöffnet
status-expired = ⌛ Abgelaufen: keine Zahlungen mehr möglich
status-stopped = ⏸ Pausiert: keine Zahlungen, bis du fortsetzt
status-completed = ✅ Bezahlt und geschlossen
status-soldOut = 🏁 <b>AUSVERKAUFT</b>
status-sold-out-of =
    🏁 <b>AUSVERKAUFT</b>: { $total ->
        [one] das einzige Stück verkauft
       *[other] alle { $total } verkauft
    }
public-closed = Hier kann gerade nicht gezahlt werden.
delete-question =
    <b>„{ $name }“ löschen?</b>
    Link, QR-Code, Plakate und die in anderen Chats geteilten Karten funktionieren dann nie wieder, und der Eintrag verschwindet aus deiner Liste. Das lässt sich nicht rückgängig machen.
    Geld, das schon da ist, bleibt deins, und die Zahlungen bleiben in den Aufzeichnungen.
delete-paid =
    { $paid ->
        [one] Die eine Zahlung, die schon da ist, bleibt bestehen.
       *[other] Die { $paid } Zahlungen, die schon da sind, bleiben bestehen.
    }

## The list

list =
    <b>Deine Zahlungslinks</b>{ $pages ->
        [one] { "" }
       *[other] { " " }(Seite { $page } von { $pages })
    }
    Tippe auf einen, um ihn anzusehen, zu teilen oder zu ändern.
list-empty =
    <b>Du hast noch keine Zahlungslinks.</b>
    Mit /new erstellst du den ersten. Das dauert etwa eine Minute.
list-pending = ⏳ <b>{ $name }</b> wird noch erstellt. Ich sage dir Bescheid, sobald alles fertig ist.
list-line = { $mark } { $name } · { $price }
mark-active = 🟢
mark-scheduled = 🕒
mark-expired = ⌛
mark-stopped = ⏸
mark-completed = ✅
mark-soldOut = 🏁

## A payment's alert

alert = 💰 <b>{ $amount }</b> für <b>{ $name }</b> erhalten
alert-payer = { $label }: { $value }
alert-sold-out = 🏁 <b>AUSVERKAUFT</b>: Das war das letzte Stück.
alert-several = { $head }: { $count } Zahlungen
alert-several-alike = { $head }: { $count } Zahlungen zu je { $each }
alert-oversold =
    { $count ->
        [one] ⚠️ <b>ÜBERVERKAUFT</b>: Diese Zahlung kam, als nicht mehr genug da war. Bitte erstatte sie.
       *[other] { $oversold ->
            [one] ⚠️ <b>ÜBERVERKAUFT</b>: { $oversold } dieser Zahlungen kam, als nicht mehr genug da war. Bitte erstatte sie.
           *[other] ⚠️ <b>ÜBERVERKAUFT</b>: { $oversold } dieser Zahlungen kamen, als nicht mehr genug da war. Bitte erstatte sie.
        }
    }
alert-other-amount =
    { $count ->
        [one] ⚠️ Laut Zahlungsdienst wurden { $named } gezahlt, der Preis ist aber { $price }.
       *[other] ⚠️ Laut Zahlungsdienst stimmt der Betrag bei { $other } dieser Zahlungen nicht mit dem Preis von { $price } überein.
    }
alert-odd-amount =
    { $count ->
        [one] ⚠️ Der Zahlungsdienst meldet einen Betrag, der nicht stimmen kann: { $named }. Hier steht stattdessen der Preis; bitte prüf die Zahlung dort nach.
       *[other] ⚠️ Bei { $other } dieser Zahlungen meldet der Zahlungsdienst einen Betrag, der nicht stimmen kann. Gezählt habe ich stattdessen den Preis; bitte prüf sie dort nach.
    }
alert-found =
    { $count ->
        [one] 🔎 Nachträglich gefunden: Diese Zahlung wurde mir damals nicht gemeldet.
       *[other] 🔎 Nachträglich gefunden: { $found } dieser Zahlungen wurden mir damals nicht gemeldet.
    }
digest = <b>{ $count } Zahlungen</b>
possibly-repeated = <i>Vielleicht hast du das schon gesehen.</i>
payer-paymail = Paymail
payer-email = E-Mail
payer-phoneNumber = Telefon
