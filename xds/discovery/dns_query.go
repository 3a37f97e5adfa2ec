package discovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/miekg/dns"
)

const (
	tryTimeout = 2 * time.Second // for one question to one server
	rounds     = 2               // how often the list of servers is gone through
	maxServers = 3               // of resolv.conf, as in the C library
	maxQueries = 8               // for one name, to follow aliases that a server leaves to its client
	parallel   = 16              // questions for addresses of targets
	udpSize    = 1232            // bytes of an answer over UDP; larger ones may be lost as fragments
)

// exchanger asks one server one question. The answer belongs to the question: see fits.
type exchanger func(ctx context.Context, question *dns.Msg, server string) (*dns.Msg, error)

// exchange asks over UDP, and over TCP if the answer does not fit or cannot be read. Each question has its own port and a
// random id, so that a forger who does not see the traffic has to guess both.
func exchange(ctx context.Context, question *dns.Msg, server string) (*dns.Msg, error) {
	answer, err := exchangeOver(ctx, "udp", question, server)
	if _, timeoutOrSystem := errors.AsType[net.Error](err); err != nil && timeoutOrSystem {
		return nil, err
	}
	if err == nil && !answer.Truncated {
		return answer, nil
	}
	answer, err = exchangeOver(ctx, "tcp", question, server)
	if err == nil && answer.Truncated { // a part of the endpoints would look like all of them
		return nil, errors.New("the answer is truncated even over TCP")
	}
	return answer, err
}

func exchangeOver(ctx context.Context, network string, question *dns.Msg, server string) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	client := dns.Client{Net: network, Timeout: tryTimeout}
	conn, err := client.DialContext(ctx, server)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // ends the wait for an answer
	defer stop()
	answer, _, err := client.ExchangeWithConnContext(ctx, question, conn)
	if err != nil {
		return nil, err
	}
	return answer, fits(question, answer)
}

// fits says what keeps a message from being the answer to the question.
func fits(question, answer *dns.Msg) error {
	q := question.Question[0]
	switch {
	case !answer.Response || answer.Opcode != dns.OpcodeQuery || answer.Id != question.Id:
		return errors.New("the message is no answer to the question")
	case len(answer.Question) != 1:
		return fmt.Errorf("the answer has %d questions", len(answer.Question))
	case !strings.EqualFold(answer.Question[0].Name, q.Name) || answer.Question[0].Qtype != q.Qtype || answer.Question[0].Qclass != q.Qclass:
		return errors.New("the answer is to another question")
	}
	return nil
}

// errStopped ends a question whose answer is of no use, or too late.
var errStopped = errors.New("no answer in time")

// resolver knows whom to ask.
type resolver struct {
	exchange exchanger
	servers  []string
}

// ask gets an answer that says what there is, or that there is nothing, from the first server that gives one.
func (r *resolver) ask(ctx context.Context, name string, rrtype uint16) (*dns.Msg, error) {
	question := new(dns.Msg).SetQuestion(name, rrtype)
	question.SetEdns0(udpSize, false)
	var errs []error // of the first round
	for round := range rounds {
		for _, server := range r.servers {
			question.Id = dns.Id()
			answer, err := r.exchange(ctx, question, server)
			if err == nil && (answer.Rcode == dns.RcodeSuccess || answer.Rcode == dns.RcodeNameError) {
				return answer, nil
			}
			if ended(ctx) {
				return nil, fmt.Errorf("ask for %s of %s: %w", dns.TypeToString[rrtype], name, errStopped)
			}
			if round == 0 {
				errs = append(errs, fmt.Errorf("ask %s for %s of %s: %w", server, dns.TypeToString[rrtype], name, reason(answer, err)))
			}
		}
	}
	return nil, errors.Join(errs...)
}

// ended says whether ctx is over. A socket's deadline may pass an instant before the context knows that it has, too.
func ended(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ctx.Err() != nil || ok && !time.Now().Before(deadline)
}

// reason says why a try failed, in a text that is the same each time: a network error's has the port of the socket.
func reason(answer *dns.Msg, err error) error {
	if err == nil {
		return fmt.Errorf("status %s", dns.RcodeToString[answer.Rcode])
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v", tryTimeout)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}

// find asks for the records of a type and follows aliases to where they lead.
func (r *resolver) find(ctx context.Context, name string, rrtype uint16) (records, error) {
	ttl, asked := time.Duration(maxTTL)*time.Second, name
	for range maxQueries {
		answer, err := r.ask(ctx, asked, rrtype)
		if err != nil {
			return records{}, err
		}
		rec, err := follow(answer.Answer, asked, rrtype)
		if err != nil {
			return records{}, err
		}
		ttl = min(ttl, rec.ttl)
		rec.ttl, rec.extra = ttl, answer.Extra
		rec.noName = answer.Rcode == dns.RcodeNameError
		switch {
		case len(rec.rrs) > 0:
			rec.noName = false
			return rec, nil
		case rec.noName:
			rec.nothing = "name " + rec.owner + " does not exist"
		case rec.owner == dns.CanonicalName(asked):
			rec.nothing = "name " + rec.owner + " has no " + dns.TypeToString[rrtype] + " record"
		default:
			asked = rec.owner // the server has left the alias to us
			continue
		}
		rec.ttl = min(ttl, negativeTTL(answer.Ns))
		return rec, nil
	}
	return records{}, fmt.Errorf("%s leads over aliases that %d questions do not resolve", name, maxQueries)
}

// findAddresses finds the addresses of a host, sorted: A records or, if there are none, AAAA records.
func (r *resolver) findAddresses(ctx context.Context, name string) (records, []netip.Addr, error) {
	v4, err := r.find(ctx, name, dns.TypeA)
	if err != nil || v4.noName {
		return v4, nil, err
	}
	found := v4
	if v4.nothing != "" {
		if found, err = r.find(ctx, name, dns.TypeAAAA); err != nil {
			return found, nil, err
		}
		found.ttl = min(found.ttl, v4.ttl)
		if found.nothing != "" {
			if !found.noName {
				found.nothing = "name " + found.owner + " has neither A nor AAAA records"
			}
			return found, nil, nil
		}
	}
	ips := addresses(found.rrs)
	if len(ips) == 0 { // a record without data is not "there is nothing"
		return found, nil, fmt.Errorf("%w: the records of %s hold no address", errRefused, found.owner)
	}
	return found, ips, nil
}
