/* SPDX-License-Identifier: Apache-2.0 */
/* The glossary's problems, limits and bottlenecks of connections. */
#include "cmd/glossary_rows.h"

#include "conns/bottleneck.h"
#include "conns/view.h"
#include "conns/words.h"

#define LOSSES "Data waits until the loss is found and the segment is sent again."

const struct glossary_text glossary_classes[CONN_CLASSES] = {
	[CONN_SEND_BUFFER] = {
		.what = "The send buffer was full for at least 5 % of the time, found by samples.",
		.effect = "The application waits in its send call, or for the socket to become "
			  "writable.",
		.todo = "Remove SO_SNDBUF if the application sets it; otherwise raise the third "
			"value of net.ipv4.tcp_wmem to twice the window.",
		.more = "(The kernel's own counter is 0 for most such connections.)",
	},
	[CONN_FAST_RETRANSMIT] = {
		.what = "Segments were lost, and later acknowledgements told so: they were sent "
			"again in fast recovery.",
		.effect = LOSSES " The congestion window shrinks.",
		.todo = "Look for full queues and link errors on the path; hostlat watch lists "
			"this host's drops.",
		.more = "If all retransmitted segments had arrived, only spurious is reported.",
	},
	[CONN_TIMEOUT] = {
		.what = "Segments were lost, and nothing but the retransmission timer told so.",
		.effect = LOSSES " The timer takes at least 200 ms.",
		.todo = "Too little was in flight for fast retransmit: use fewer, busier "
			"connections or larger writes. If whole windows are lost, look for a full "
			"queue or a path that was down.",
		.more = "If all retransmitted segments had arrived, only spurious is reported.",
	},
	[CONN_TAIL_LOSS_PROBE] = {
		.what = "The last segments of a message were lost, and a probe after about two "
			"round trips found that.",
		.effect = LOSSES " The probe of a single segment waits at least 200 ms.",
		.todo = "Look for drops on the path. Fewer, busier connections find losses by "
			"later segments instead.",
		.more = "If all retransmitted segments had arrived, only spurious is reported.",
	},
	[CONN_SPURIOUS] = {
		.what = "At least half of the retransmitted segments had arrived before.",
		.effect = "Bandwidth is wasted, and the congestion window may shrink for nothing.",
		.todo = "With timeouts: look for a queue that fills or a receiver that stalls. "
			"Without: look for parallel links that reorder packets.",
	},
	[CONN_RECEIVER_WINDOW] = {
		.what = "The receiver's window limited the connection for at least 5 % of the "
			"time, by the kernel's counter, or by samples where there is none.",
		.effect = "Data waits in the sender's socket until the receiver makes room.",
		.todo = "At the receiver: does the application read (hostlat diagnose), does it "
			"set SO_RCVBUF (remove it), is the third value of net.ipv4.tcp_rmem large "
			"enough?",
		.more = "If the other end is on this host, limit says why the window is small: the "
			"application does not read, it has set SO_RCVBUF, or the window still "
			"grows.",
	},
	[CONN_ZERO_WINDOW] = {
		.what = "The receiver's window was closed: its buffer was full.",
		.effect = "Nothing at all can be sent until the receiver reads.",
		.todo = "At the receiver find out why the application does not read: hostlat "
			"record and hostlat diagnose there.",
	},
	[CONN_RECEIVER_NOT_READING] = {
		.what = "This end's receive buffer was full: the application reads more slowly "
			"than data arrives.",
		.effect = "The peer has to stop sending.",
		.todo = "Find out what the application waits for, with hostlat record and hostlat "
			"diagnose.",
	},
	[CONN_DELAYED_ACK] = {
		.what = "Acknowledgements came late by the receiver's timer of up to 40 ms (other "
			"systems: 200 ms). The side is the end that delayed them.",
		.effect = "It is harmful if data was held until they came.",
		.todo = "At the sending end set TCP_NODELAY, or write each message in one call.",
		.more = "Side peer: the timer is learned from round trips with at most two "
			"segments in flight that no data acknowledged: most take as long as the "
			"path, and the others are longer by the same 20 to 250 ms. The first "
			"seven late ones are reported together with the seventh. The counts are "
			"unknown on a path that varies that much or is as long, and where the "
			"application's calls are not seen. Side ours: this end delayed them. It "
			"is harmful if the other end is known to have held data.",
	},
	[CONN_DELAYED_REPAIR] = {
		.what = "After a retransmission timeout TCP sends one segment. The peer delayed "
			"its acknowledgement, since no second segment came.",
		.effect = "The other lost segments, or further data, wait for the peer's timer on "
			  "top of the timeout: 40 ms, on other systems up to 200 ms.",
		.todo = "At the receiving host: ip route change ROUTE quickack 1, or TCP_QUICKACK "
			"in the application after each receive call. At the sending host: look "
			"for the losses.",
		.more = "Linux delays such an acknowledgement if the receiving application answers "
			"what it receives, and if no earlier data is missing. It is counted where "
			"the round trip of the segment sent again exceeds the usual one by 20 to "
			"250 ms and by three times its variation. Without the peer's own count at "
			"least two such acknowledgements after at least a quarter of the timeouts "
			"are needed. inet_diag does not show them.",
	},
	[CONN_NAGLE] = {
		.what = "Nagle's algorithm held a small write until a delayed acknowledgement "
			"came.",
		.effect = "Such a message takes as long as the peer's timer: often 40 ms.",
		.todo = "Set TCP_NODELAY, or write each message in one call (writev, MSG_MORE).",
	},
	[CONN_SMALL_WRITES] = {
		.what = "Most send calls give less than half a segment, one right after the other.",
		.effect = "More calls and packets than needed, and with Nagle's algorithm waits.",
		.todo = "Combine writes: writev, MSG_MORE, TCP_CORK, or a buffer in the "
			"application.",
	},
	[CONN_TINY_SEND_BUFFER] = {
		.what = "The application has set SO_SNDBUF to a few packets, often to 0.",
		.effect = "A write waits until earlier data is acknowledged: of an odd number of "
			  "packets, by the receiver's delayed ACK.",
		.todo = "Remove SO_SNDBUF: Linux copies the data with any size, so that a small "
			"buffer saves nothing.",
	},
	[CONN_BURST_AFTER_IDLE] = {
		.what = "Packets were lost within two round trips of a burst after a pause.",
		.effect = LOSSES,
		.todo = "Write in smaller pieces after a pause, or use pacing (fq, bbr). If "
			"net.ipv4.tcp_slow_start_after_idle is 0, set it to 1.",
	},
	[CONN_SLOW_START_AFTER_IDLE] = {
		.what = "The congestion window was reduced after a pause and was then too small.",
		.effect = "The first message after a pause takes several round trips more.",
		.todo = "If you control the whole path, set net.ipv4.tcp_slow_start_after_idle to "
			"0; or let no pause exceed the retransmission timeout.",
	},
	[CONN_INCAST] = {
		.what = "Many senders answer one receiver at once, and their packets overflow a "
			"queue that they share.",
		.effect = LOSSES,
		.todo = "Request less data at once, spread the requests over a few milliseconds, "
			"or pace the replies (fq, bbr).",
		.more = "Side sender: at least three connections to one receiver began to write "
			"within 10 ms and lost packets within 20 ms. Side receiver: connections "
			"to at least three hosts sent requests within 10 ms that were "
			"acknowledged more than 190 ms later than usual, and only with the reply. "
			"This is inferred: either the replies were lost, or the path or the hosts "
			"stood still, or the hosts delay acknowledgements by 200 ms (older "
			"Windows). Replies that are retransmitted sooner are not seen. A host "
			"with only one of the senders cannot see it: run hostlat conns at the "
			"receiver, or give its recording to --peer. All connections are examined, "
			"whichever are shown.",
	},
	[CONN_PIPELINE_PROXY] = {
		.what = "Whenever this connection waits for a delayed acknowledgement or a window, "
			"another connection of the same task gets nothing from it.",
		.effect = "One slow peer holds up the clients of a proxy that waits in one place.",
		.todo = "Put a queue between the two connections, and keep reading (another thread "
			"or an event loop) while this one waits.",
		.more = "It is a rank correlation over at least 50 intervals.",
	},
	[CONN_SPREAD_WRITES] = {
		.what = "Small messages go over several connections to one service, and their "
			"losses had to be found by timers.",
		.effect = "A lost message waits for a timer of at least 200 ms.",
		.todo = "Use fewer connections, so that later packets reveal a loss.",
	},
};

const struct glossary_text glossary_limits[WORDS_TIMES] = {
	/* in the order of words_time_name() */
	{
		.what = "The sending application gives no more data: nothing in the network "
			"limits the connection.",
		.effect = "It is no problem of the connection; a connection without work is "
			  "limited so nearly all the time.",
		.todo = "If data should flow, look at the application: hostlat explain, or hostlat "
			"record and hostlat diagnose.",
	}, {
		.what = "The send buffer is full: the application has more data than the socket "
			"takes.",
		.todo = "Remove SO_SNDBUF, or raise the third value of net.ipv4.tcp_wmem, if the "
			"buffer is smaller than twice the window. Else the path is the limit.",
	}, {
		.what = "The congestion window, pacing, or recovery from losses allows no more "
			"data in flight.",
		.effect = "A bulk transfer that fills its path is limited so, which is no problem.",
		.more = "States pacing and local-queue are parts of it: a departure time holds "
			"the next segment, or this host's own queue has enough of the connection's "
			"bytes (TCP small queues). JSON divides it in congestion_ns.",
		.todo = "Look at the losses and the queues of the path. Where the path is idle, "
			"look for pauses (slow-start-after-idle) and the congestion control.",
	}, {
		.what = "The peer's window allows no more data in flight.",
		.todo = "At the receiver: does the application read, does it set SO_RCVBUF, is the "
			"third value of net.ipv4.tcp_rmem large enough?",
	}, {
		.what = "Data is held until an acknowledgement comes that the peer delays.",
		.todo = "Set TCP_NODELAY at this end, or write each message in one call.",
	},
};

#define RECEIVER "At the receiver: "

const struct glossary_text glossary_sides[BOTTLENECK_MAX] = {
	[BOTTLENECK_SENDER_APPLICATION] = {
		.what = "The sending application gives no more data.",
		.effect = "Neither the network nor the receiver limits the transfer.",
		.todo = "Look at the sending application, with hostlat record and hostlat diagnose "
			"on its host.",
	},
	[BOTTLENECK_SEND_BUFFER] = {
		.what = "The sender's buffer is full.",
		.todo = "At the sender, remove SO_SNDBUF or raise the third value of "
			"net.ipv4.tcp_wmem.",
	},
	[BOTTLENECK_NETWORK] = {
		.what = "The congestion window, pacing, or losses limit the transfer.",
		.effect = "A bulk transfer that fills its path is limited so, which is no problem.",
		.todo = "Look for losses and full queues on the path.",
	},
	[BOTTLENECK_LOCAL_QUEUE] = {
		.what = "The sending host's own queueing discipline or network card has enough of "
			"the connection's bytes (TCP small queues).",
		.effect = "The congestion window would allow more: the path beyond this host is "
			"not the limit.",
		.todo = "At the sender, look at the rates of the queueing discipline (tc -s qdisc) "
			"and of the link. hostlat watch --stages egress measures both.",
	},
	[BOTTLENECK_RECEIVER_APPLICATION] = {
		.what = "The receiving application does not read.",
		.todo = RECEIVER "find out what the application waits for, with hostlat record and "
			"hostlat diagnose.",
	},
	[BOTTLENECK_RECEIVE_BUFFER] = {
		.what = "The receiving application has set SO_RCVBUF.",
		.effect = "The kernel does not enlarge such a buffer.",
		.todo = RECEIVER "remove SO_RCVBUF from the application.",
	},
	[BOTTLENECK_RECEIVER_WINDOW] = {
		.what = "The receiver's window still grows.",
		.effect = "A young connection is slower for some round trips.",
		.todo = "If it lasts, raise the third value of net.ipv4.tcp_rmem at the receiver.",
	},
	[BOTTLENECK_RECEIVER] = {
		.what = "The receiver's window is too small, for an unknown reason.",
		.todo = RECEIVER "does the application read, does it set SO_RCVBUF, is the third "
			"value of net.ipv4.tcp_rmem large enough?",
	},
	[BOTTLENECK_DELAYED_ACK] = {
		.what = "The receiver delays acknowledgements, and data waits for them.",
		.todo = "At the sender, set TCP_NODELAY or write each message in one call.",
	},
};
