### Times: how they are said, and what was wrong with one

moment-spelled = { $date }, { $time }, { $zone }
moment-place = { $place } time
moment-in-days =
    { $count ->
        [one] in { $count } day
       *[other] in { $count } days
    }
moment-in-hours = in { $hours } h
moment-in-minutes = in { $minutes } min
moment-in-both = in { $hours } h { $minutes } min

problem-moment = ⚠ I can't read a time in that. Write for example <code>tomorrow 18:00</code>, <code>in 2 h</code>, <code>Friday 6 pm</code> or <code>31 Dec 23:59</code>.
problem-moment-past = ⚠ That is over: { $moment }. Write a time to come, for example <code>tomorrow 18:00</code> or <code>in 2 h</code>.
problem-moment-far = ⚠ That is too far ahead: up to 3,650 days are possible. Write a nearer day, for example <code>31 Dec</code> or <code>in 3 days</code>.
problem-moment-date = ⚠ The calendar has no such day. Write for example <code>31 Dec 18:00</code> or <code>2 weeks</code>.
problem-moment-weekday = ⚠ That date falls on another day of the week. Write only the date or only the day, for example <code>31 Dec</code> or <code>Friday</code>.
problem-moment-gap = ⚠ The clocks are put forward then and skip that time. Write one an hour earlier or later, for example <code>tomorrow 18:00</code>.
problem-clock = ⚠ I can't read one time of day in that. Write for example <code>20:00</code> or <code>8 pm</code>.
problem-hours = ⚠ I can't read from when until when. Write for example <code>22:00-7:30</code> or <code>10 pm to 7 am</code>.
problem-zone = ⚠ I know no time zone of that name. Write a large city near you, a country or a difference from UTC, for example <code>Berlin</code>, <code>New York</code> or <code>UTC+2</code>.
problem-zone-minutes = ⚠ A difference from UTC is taken in whole hours only. Write a large city near you instead, for example <code>Kolkata</code> or <code>Kathmandu</code>.
